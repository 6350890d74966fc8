"""Puts a volume back to a snapshot by writing just the blocks that differ.

States: Rewind.
Routes: list_undo_logs, delete_undo_log (both in undo_logs).

- evidence: the snapshot of the volume as it was, which undoes the rewind
- undo_logs: what a rewind has overwritten, in the bucket: listed, priced, named and deleted
- writer: the agent that takes the volume, waits for the packs, and writes them
"""
