"""How each volume gets to full speed, at which price, and what comes next when a plan fails.

Route: plan_restore.

- cards: which EBS card of its instance each volume reads through
- plan_notes: what a reader of a plan should know beside its numbers
- rewind_cases: what AWS says of a volume that may go back, and what a plan says of the rewind
- rewinds: what it would take to put the source volume itself back
- schedule: the plans as lines that a person reads, and the same by hand
- planning: from facts to plans, for the state and for the route
"""
