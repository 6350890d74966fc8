"""The published figures of volumes after a restore, measured again on the embedded AWS.

`figures.py` has what was published, `bench.py` runs fio on the instance through POST /benchmarks, `states.py`
brings volumes into each state, `copies.py` reads files, `mounts.py` compares mounts, `page.py` and
`picture.py` write docs/measurements.md.
"""
