"""Rules that adopt new volumes by themselves: what they are, what they fit, and what they begin.

Routes: put_rule, get_rule, delete_rule and check_rule (all in rules).

- candidates: the facts about volumes that a rule may fit, and what each of them is worth
- hear: which events of AWS have rules look, and soon
- ledger: what runs, what the day has used and what is news, from one look to the next
- look: what all rules do with all new volumes at one moment
- rules: the routes of rules
"""
