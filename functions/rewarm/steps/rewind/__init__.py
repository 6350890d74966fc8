"""Puts a volume back to a snapshot by writing just the blocks that differ.

Routes: list_undo_logs, delete_undo_log (both in undo_logs).

- needs: the ports
- evidence: the snapshot of the volume as it was, which undoes the rewind
- way_back: whether it, or the undo log, still does that
- writer: the agent that takes the volume, waits for the packs, and writes them
- accounts: what agents say that they wrote
- gate: what the agent waits for, until there is a way back
- attempts: when the agent takes the volume once more
- telling: what messages and the record say
- ending: how a rewind fails
- ways: what is compared, and what keeps the old blocks, by the plan
- undo_logs: what a rewind has overwritten, in the bucket: listed, priced, named and deleted
- rewound: what a rewind has left, by which the next one sees whether it still is so
"""
