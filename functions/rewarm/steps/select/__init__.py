"""Which snapshots become volumes, and which device each volume gets.

States: Select Snapshot, Release Target.

- selection: the facts about the snapshots of a request
- sources: the snapshots that a request's `source` names
- start_times: the time at which each restore and each volume may begin, within EC2's request limits
- target_lock: the lock on a device, so that two restores never work on one device
"""
