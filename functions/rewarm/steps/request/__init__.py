"""How a restore begins, is looked at, approved and cancelled.

States: Parse Request, Check Approval.
Routes: start_restore, get_restore, cancel_restore (all in routes), approve_restore, runbooks, listing.

- approval: approves the plan that a restore waits with
- routes: begins a restore, shows it, and asks it to stop
"""
