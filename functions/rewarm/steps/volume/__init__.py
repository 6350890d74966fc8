"""The volume itself: prepares, creates and attaches it, and gives back what costs extra; its application.

- adopted_boosts: the boost of a volume that was there, from its plan to its end
- extras: a copied snapshot, a boost and fast snapshot restore: what costs extra, and gives it back
- hook_calls: what Run Command is asked for each part of bringing the application back
"""
