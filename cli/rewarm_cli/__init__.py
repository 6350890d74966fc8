"""The command line `rewarm`: what a user runs against a stack in an AWS account.

`main.py` has the command itself, `commands` one module for each group of its commands, `settings.py` the
options that all of them take, `account.py` and `api.py` the way to the stack's API, `requests.py` the options
that describe a restore, `views.py` and `watching.py` what people see, `output.py` what programs get, and
`problems.py` what an error looks like and which exit status it has.

Modules that take long to import (botocore, rich, yaml, matplotlib) are imported in the functions that need
them, so that help and completion answer at once.
"""

__version__ = "0.1.0"
"""As in pyproject.toml."""
