"""`rewarm bench`: the same benchmark on several mounts of an instance, side by side.

`options.py` is the command line, `stack.py` finds the API of the stack, `tables.py` and `picture.py` show
the runs.
"""
