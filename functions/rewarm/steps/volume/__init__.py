"""The volume itself: prepared, created, attached, and what costs extra given back.

States: Prepare Snapshot, Create Volume, Check Volume, Attach Volume, Release.

- boost: raises a volume's performance for the warm-up and lowers it afterwards
- fast_restores: gives fast snapshot restore back
"""
