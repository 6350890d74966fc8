"""The scenarios of `make run` beside the restore: drills, rewinds, and volumes that others have made."""
