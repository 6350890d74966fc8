"""Which snapshots become volumes, and which device each volume gets.

States: Select Snapshot, Release Target.

- holding: the lock on a device, so that two restores never work on one device
- selection: the facts about the snapshots of a request
- sources: the snapshots that a request's `source` names
- turns: the time at which each restore and each volume may begin, within EC2's request limits
"""
