"""Ends whatever still costs money: after a failure, by schedule, and before the stack is deleted.

Called by the sweeper: sweep, end_stack.

- clean_up_account: what a clean-up receives and records
- gauges: what runs and costs money now, as numbers, and what the sweeper asks Step Functions
- missing_reports: writes the report of a restore and sends the message of a volume where they are missing
- sweep_unrecorded: ends what a killed calibration left, and finds whose a fast snapshot restore is
- sweep_fleets: follows fleets, and ends those whose execution is over
- sweep_unproven: names what has our tags although no record proves it ours
- sweep_restores: ends a restore whose execution was stopped or lost
"""
