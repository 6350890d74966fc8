"""The fast lab: the real state machines and handlers in one process and virtual time, alike for each seed."""
