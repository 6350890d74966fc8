"""The command line `rewarm`: what a user runs against a stack in an AWS account.

`main.py` has the command itself, and `commands` a module for each group of its commands. `settings.py` has
the options of all commands, and `requests.py` those that describe a restore. `account.py` and `api.py` call
the stack's API. `views.py` and `watching.py` have what people see, `output.py` what programs get, and
`problems.py` errors and exit statuses.

Slow modules (botocore, rich, yaml, matplotlib) are imported in the functions that need them, so that help and
completion answer at once.
"""

__version__ = "0.1.0"
"""As in pyproject.toml."""
