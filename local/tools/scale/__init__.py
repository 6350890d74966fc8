"""`make scale`: the largest snapshots, on the real template in the embedded AWS."""
