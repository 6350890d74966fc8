"""Which snapshots become volumes, and which device each volume gets.

- admission: lets a restore begin once its devices are held and the stack has room
- adoptions: the facts about volumes that are there already, and whether they can be warmed up
- hooks: whether what is to bring the application back can be sent
- rewind_targets: which volume goes back, to which snapshot or undo log, and whether that is possible
- selection: the facts about the snapshots of a request
- sources: the snapshots that a request's `source` names
- turns: when EC2 can answer a restore, and each of its volumes
"""
