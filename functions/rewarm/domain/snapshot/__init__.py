"""Which snapshot of a volume or an instance is the right one."""
