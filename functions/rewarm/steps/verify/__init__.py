"""Measures a volume on its instance.

State: Verify Volume.
Routes: start_benchmark, get_benchmark.

- benchmark_volume: the benchmark that a request asks for after the verification
"""
