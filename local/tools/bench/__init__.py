"""The benchmark: the warm-up agent beside dd and fio on cold volumes, and beside the physical limit."""
