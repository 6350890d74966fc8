"""Step Functions in virtual time."""
