"""Puts a volume back to a snapshot by writing just the blocks that differ.

Routes: list_undo_logs, delete_undo_log (both in undo_logs).

- needs: the ports of the step `rewind`
- evidence: the snapshot of the volume as it was, which undoes the rewind
- way_back: whether it, or the undo log, can still do that
- writer: the agent that takes the volume, waits for the packs, and writes them
- accounts: what agents say that they wrote
- gate: what the agent waits for, until there is a way back
- attempts: when the agent takes the volume once more
- telling: what messages and the record say of a rewind
- ending: how a rewind fails
- ways: what is compared, and what keeps the old blocks, by the plan
- undo_logs: what a rewind has overwritten, in the bucket: listed, priced, named and deleted
- rewound: what shows the next rewind whether somebody has written since this one
"""
