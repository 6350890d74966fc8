"""Tells people and programs what happened, and writes it to the record first.

All its states run the step `announce`. The message of `Announce Fleet End` is made by the function
`announce_fleet_end`, and so on. Each module reads the facts; the words are in `domain/words`.

- announce: the order of record and channels, and the table of messages
- claims: which of several senders sends a message that must arrive
- application: the message that the application is back, or is not
- ended: the messages of a restore that failed, was cancelled, or has no report
- fleet: the messages of a fleet
- performance: the messages about a change of performance
- plan: the messages of a plan, of one that waits for approval, and of another plan that takes over
- ready: the message of a volume at full speed
- usable: the messages of a volume that can be used, and what several messages say of a volume
"""
