"""How the blocks of a snapshot get into packs, which the agent writes to a volume.

- undo_log: the packs of an undo log that are written back, and lines whose old blocks go to a new log
"""
