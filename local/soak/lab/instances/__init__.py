"""Instances in virtual time: their volumes, and the documents that run on them."""
