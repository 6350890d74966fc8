"""What `make run` shows while it runs."""
