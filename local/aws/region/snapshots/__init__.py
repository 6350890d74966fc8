"""Snapshots, their blocks, fast snapshot restore, the Recycle Bin, and KMS keys."""
