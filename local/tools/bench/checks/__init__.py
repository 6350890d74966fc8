"""What `make bench` measures beside the time until a volume is warm."""
