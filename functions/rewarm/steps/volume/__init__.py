"""The volume itself: prepares, creates and attaches it, and gives back what costs extra.

- extras: a copied snapshot, a boost and fast snapshot restore: what costs extra, and gives it back
"""
