"""The account of a restore: estimate against actual, cost, and what was measured.

- phase_times: how long each phase of a volume's restore took
- volume_reports: the account of one volume, and what a drill has shown
"""
