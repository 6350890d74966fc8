"""What is known about volumes: types, performance, targets, locks and leftovers."""
