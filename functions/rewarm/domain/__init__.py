"""Rules of restoring: pure functions and frozen values, standard library only."""
