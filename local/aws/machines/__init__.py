"""Volumes and instances that hold real bytes and run real commands on this machine."""
