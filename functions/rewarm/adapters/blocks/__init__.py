"""Blocks of snapshots: the EBS direct APIs, and packs of them on S3."""
