"""How a restore begins, is looked at, and is cancelled.

State: Parse Request.
Routes: start_restore, get_restore, cancel_restore, runbooks.

- alarm_starts: which events of an alarm start a restore
"""
