"""Volumes written block by block from snapshots, through the EBS direct APIs."""
