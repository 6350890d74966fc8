"""Which snapshots become volumes, and which device each volume gets.

- admission: lets a restore begin once its devices are held, the stack has room, and EC2 can answer it
- rewind_targets: which volume goes back, to which snapshot or undo log, and whether that is possible
- selection: the facts about the snapshots of a request
- sources: the snapshots that a request's `source` names
"""
