"""How a restore begins, is looked at, approved and cancelled, with a signature or by what a message links.

Routes: start_restore, get_restore, cancel_restore (all in routes), approve_restore, runbooks, listing.

- approval: approves the plan that a restore waits with, and what Slack's buttons do
- routes: begins a restore, shows it and its page, and asks it to stop
"""
