"""Puts a volume back to a snapshot by writing just the blocks that differ.

Routes: list_undo_logs, delete_undo_log (both in undo_logs).

- evidence: the snapshot of the volume as it was, which undoes the rewind
- writer: the agent that takes the volume and writes, what it says, and what it leaves for the next rewind
- gate: what the agent waits for, until there is a way back, and whether that is there still; the step's ports
- telling: what messages and the record say of a rewind
- ending: a further attempt of the agent, and how a rewind fails
- ways: what is compared, and what keeps the old blocks, by the plan
- undo_logs: what a rewind has overwritten, in the bucket: listed, priced, named and deleted
"""
