"""Ways through the state machines, whose calls are the fault matrix."""
