"""How a restore begins, is looked at, and is cancelled.

State: Parse Request.
Routes: start_restore, get_restore, cancel_restore (all in routes), runbooks, listing.

- routes: begins a restore, shows it, and asks it to stop
"""
