"""Rules that adopt new volumes by themselves: what they are, which volumes fit, and what begins.

Routes: put_rule, get_rule, delete_rule and check_rule (all in rules).

- candidates: the volumes that rules may adopt, and whether each can be adopted
- hear: which AWS events make rules look, and soon
- ledger: what runs, what the day has used and what is news, from one look to the next
- look: what all rules do with all new volumes at one moment
- rules: the routes of rules
"""
