"""Ends whatever still costs money: after a failure, by schedule, and before the stack is deleted.

Called by functions of their own: sweep, end_stack.

- clean_up_account: what a clean-up receives and writes down
- gauges: what runs and costs money now, as numbers for the dashboard
- known_executions: what the sweeper asks Step Functions
- lost_claims: whose a fast snapshot restore is that the table knows nothing of
- missing_reports: writes the report of a restore that has none
- ready_messages: sends the message of a volume at full speed that nobody was sent
- sweep_calibrations: ends what a calibration left that was killed
- sweep_fleets: follows fleets, and ends those whose execution is over
- sweep_restores: ends a restore whose execution was stopped or lost
"""
