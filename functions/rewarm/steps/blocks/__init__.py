"""How the blocks of a snapshot get into packs, which the agent writes to a volume.

States: List Blocks, Copy Shard, Join Parts.
"""
