"""`rewarm wait`: until volumes are proven to be at full speed, whoever warms them.

`command.py` is the command with its options, `named.py` finds volumes by device and by instance, and
`watch.py` looks until all are proven.
"""
