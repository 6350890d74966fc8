"""Tells people and programs what happened, and writes it to the record first.

The module announce serves all of its states: Announce Plan, Fallback, Attached, Available, Ready, Failure and
Unreported of a restore, Announce Change and Failure of a change of performance, Announce Fleet Plan and End.

Each message has one module here, which reads the facts, and one of the same name in `domain/words`.

- announce: the order of record and channels, and the table of messages
- approval: the message of a plan that waits for somebody to approve it
- ended: the messages of a restore that failed, was cancelled, or has no report
- fleet: the messages of a fleet
- performance: the messages about a change of performance
- plan: the messages of a plan, and of another plan that takes over
- ready: the message of a volume at full speed
- usable: the messages of a volume that can be used, attached or in a zone
- volume_facts: what several messages say of a volume
"""
