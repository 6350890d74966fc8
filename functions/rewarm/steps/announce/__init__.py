"""Tells people and the record what happened; `domain/words` finds the words.

States: Announce Plan, Announce Attached, Announce Available, Announce Ready and the others, all in announce.

- details: what each message holds for programs
- performance: messages about a change of performance
- record: writes news to the record before people hear them
- replacement: what messages say about a volume that gave up its place
- unreleased: what the ready message says about costs that `Release` could not end
- unreported: the message about a restore whose report is missing
- usable: notes that people know of a volume that they can use
"""
