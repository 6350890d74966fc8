"""The account of a restore: estimate against actual, cost, and what was measured.

States: Report, Keep Result.

- phase_times: how long each phase of a volume's restore took
- replacements: what the report says about volumes that were to leave their place
- volume_reports: the account of one volume
"""
