"""The volume itself: prepares, creates and attaches it, and gives back what costs extra.

- copy_snapshot: copies a snapshot of another Region, and deletes the copy
- extras: gives back what costs extra: a boost and fast snapshot restore
"""
