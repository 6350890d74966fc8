"""fio's patterns, its output, and comparisons between mounts."""
