"""Puts a volume back to a snapshot by writing only the blocks that differ.

Routes: list_undo_logs, delete_undo_log (both in undo_logs).

- evidence: the snapshot of the volume as it was, which undoes the rewind
- writer: the agent that takes the volume and writes, what it says, and what it leaves for the next rewind
- gate: the part of the manifest that the agent waits for until there is a way back; the step's ports
- telling: what messages and the record say of a rewind
- ending: a further attempt of the agent, and how a rewind fails
- ways: what the plan compares, and where it keeps the old blocks
- undo_logs: what rewinds have overwritten: written, listed, priced and deleted in the bucket
"""
