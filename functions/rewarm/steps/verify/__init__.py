"""Measures a volume on its instance.

Routes: start_benchmark, get_benchmark (in benchmarks).

- benchmarks: shows a benchmark, and runs the one that a request asks for after the verification
"""
