"""The volume itself: prepared, created, attached, and what costs extra given back.

- extras: a copied snapshot, a boost and fast snapshot restore: what costs extra, and gives it back
"""
