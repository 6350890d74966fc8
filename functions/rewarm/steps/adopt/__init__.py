"""Rules that adopt new volumes by themselves: what they are, and what they fit.

Routes: put_rule, get_rule, delete_rule and check_rule (all in rules).

- candidates: the facts about volumes that a rule may fit, and what each of them is worth
- rules: the routes of rules
"""
