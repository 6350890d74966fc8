"""The JSON of requests, plans, reports and the record, and of events and results that several states use.

An event or result that only one state uses is in the file of that state's step.
"""
