"""The volume itself: prepared, created, attached, and what costs extra given back.

- copy_snapshot: copies a snapshot of another Region, and deletes the copy
- extras: gives back what costs extra: a boost and fast snapshot restore
"""
