"""The Lambda functions that no state machine calls: the API, the sweeper, rules and custom resources.

runtime.py makes the functions of the states from their steps.
"""
