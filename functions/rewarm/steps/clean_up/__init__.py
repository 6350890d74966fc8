"""Ends whatever still costs money: after a failure, by schedule, and before the stack is deleted.

State: Clean Up.
Called by functions of their own: sweep, end_stack.

- gauges: what runs and costs money now, as numbers for the dashboard
- known_executions: what the sweeper asks Step Functions
- late_reports: the report of a restore that ended ready without one
- remains: what a clean-up receives and writes down
- sweep_reports: the report of a restore that was stopped before its own
- sweep_restores: ends a restore whose execution was stopped or lost
- swept: what a sweep says about one leftover
"""
