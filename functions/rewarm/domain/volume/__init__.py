"""What is known about volumes: types, performance, targets, EBS cards, locks and leftovers."""
