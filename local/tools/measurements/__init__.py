"""`make measurements`: what Rewarm promises, measured on the embedded AWS.

`cases.py` says which restores, `series.py` carries them out one after the other, so that each knows what the
ones before have taught, `verdict.py` holds the estimates against what it took, `view.py` shows it.
`published/` measures the published figures again and writes docs/measurements.md.
"""
