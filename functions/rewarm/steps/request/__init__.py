"""How a restore begins, is looked at, and is cancelled.

State: Parse Request.
Routes: start_restore, get_restore, cancel_restore (all in routes), runbooks.

- routes: begins a restore, shows it, and asks it to stop
"""
