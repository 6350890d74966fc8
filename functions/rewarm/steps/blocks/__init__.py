"""How the blocks of a snapshot get into packs, which the agent writes to a volume.

- undo_log: the packs of a log that are written back, and lines for which one is kept
"""
