"""The account of a restore: estimate against actual, cost, and what was measured.

- metrics: what the report is worth to the dashboard and the alarms
- phase_times: how long each phase of a volume's restore took
- volume_reports: the account of one volume, and what a drill has shown
"""
