"""Instances, and what Systems Manager runs on them."""
