"""Ends whatever still costs money: after a failure, by schedule, and before the stack is deleted.

Called by the sweeper: sweep, end_stack.

- clean_up_account: what a clean-up receives and writes down
- gauges: what runs and costs money now, as numbers for the dashboard
- known_executions: what the sweeper asks Step Functions
- lost_claims: finds the restore of a fast snapshot restore that the table does not know
- missing_reports: writes the report of a restore that has none
- ready_messages: sends the message of a volume at full speed where it is missing
- sweep_calibrations: ends what a killed calibration left
- sweep_fleets: follows fleets, and ends those whose execution is over
- sweep_unproven: names what has our tags and no record proves
- sweep_restores: ends a restore whose execution was stopped or lost
"""
