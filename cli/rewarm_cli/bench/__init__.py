"""`rewarm bench`: the same benchmark on several mounts of an instance, side by side.

`command.py` is the command with its options, `tables.py` and `picture.py` show the runs.
"""
