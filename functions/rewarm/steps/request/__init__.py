"""How a restore begins, is shown, approved and cancelled, by signed calls or by a message's links.

Routes: start_restore, get_restore, cancel_restore (all in routes), approve_restore, runbooks, listing.
Routes: hot_sets.

- alarm_events: reads CloudWatch's event of an alarm, and whether its actions are suppressed
- approval: approves a restore's plan, and does what Slack's buttons ask for
- routes: begins a restore, shows it and its page, and asks it to stop
"""
