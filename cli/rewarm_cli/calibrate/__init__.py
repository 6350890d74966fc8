"""`rewarm calibrate`: measures in the user's account what AWS does not document.

- command: what the user sees and answers
- ways: what is measured, how long it takes and what it costs at most
- cloud: what is made in the account, its tags, and how it is removed
- measuring: the measurements, one after the other
- reads: the reads on the instance, and what the SSM document prints of them
- figures: from observations to a value and an interval
- findings: the table, and the file
"""
