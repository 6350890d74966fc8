"""What `rewarm doctor` checks, with a module for each group of checks.

`findings` has the result of a check, `account` asks AWS, and `examination` runs the checks. `account` makes
no call that could change anything.
"""
