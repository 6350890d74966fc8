"""Worlds in memory that tests of steps act on."""
