"""What a restore writes down and reads again: its items in the table and its objects in the bucket.

- application: what brings the application back, and how that went
- approvals: the approval that a restore waits for
- boosts: volumes that were there and are raised for their warm-up, with what they go back to
- bucket: every key of the bucket, and links to the page of a restore
- calibrations: what `rewarm calibrate` has measured, and what it has made, by its own account
- loading: how far an initialization is, sample by sample, and how far copy-blocks is
- learned_times: what finished restores of this account say about the next one
- leftovers: what a failed restore removed and what it leaves behind, in words
- lost_records: makes the record of a restore again whose item in the table is lost
- payloads: volumes, plans and results, which are too large for a payload of Step Functions
- recordings: what recordings of reads say of a volume that is to be warmed up
- replacing: stores a runbook or a rule, over another one only where its writer has seen that one
- results: what became of one volume, also where its execution ended without an account
- restore: what the record of a restore says, and each change of it
- volume: what the record of one volume says, and each change of it
- way_back: whether what undoes a restore is still there, and the words for it
"""
