"""Many volumes restored together.

- sources: what a fleet is made of
- targets: where its volumes go, and their device names
"""
