"""Strategies, their times and prices, and which one is the cheapest in time."""
