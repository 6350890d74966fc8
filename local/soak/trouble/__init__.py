"""What is restored and what goes wrong: paths, scenarios, faults, and the fault matrix."""
