"""The commands: `restores.py` plans, starts and follows restores; runbooks and volumes have a group each."""
