"""Ready-made values of a kind that several tests read."""
