"""The volume itself: prepared, created, attached, and what costs extra given back.

- bring_online: brings the disk of an attached volume online on Windows
- copy_snapshot: copies a snapshot of another Region, and deletes the copy
- extras: gives back what costs extra: a boost and fast snapshot restore
"""
