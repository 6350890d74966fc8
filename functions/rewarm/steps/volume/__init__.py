"""The volume itself: prepared, created, attached, and what costs extra given back.

States: Prepare Snapshot, Create Volume, Check Volume, Attach Volume, Release.
States: Start Instance, Start Instance Check (both in start_instance).

- bring_online: brings the disk of an attached volume online on Windows
- copy_snapshot: copies a snapshot of another Region, and deletes the copy
- extras: gives back what costs extra: a boost and fast snapshot restore
"""
