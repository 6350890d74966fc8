"""Changes a volume's type, IOPS and throughput, apart from any restore.

Routes: start_performance_change, get_performance (both in routes).

- changes: the record of a change, and when it was requested
- routes: begins a change, and shows a volume's performance
"""
