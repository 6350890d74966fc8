"""What a restore writes down and reads again: its items in the table and its objects in the bucket.

- kept: what a restore knows of its volumes, as objects in the bucket
- learning: what finished restores of this account say about the next one
- leftovers: what a failed restore removed and what it leaves behind, in words
- links: presigned links to the page of a restore
- records: the attributes of a restore in the table
- samples: the progress of an initialization, one object for each volume
"""
