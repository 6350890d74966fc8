"""What `rewarm doctor` looks at, with a module for each group of checks.

`findings` has what a check says, `account` asks AWS, and `examination` runs the checks. `account` makes
no call that could change anything.
"""
