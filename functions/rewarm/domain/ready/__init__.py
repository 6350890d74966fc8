"""When a volume is at full speed, and how long to wait before the next look."""
