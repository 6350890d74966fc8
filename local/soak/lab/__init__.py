"""The fast lab itself: services, state machines and functions in one process and virtual time."""
