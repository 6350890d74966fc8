"""What AWS calls beside the state machines: the API, the sweeper, rules and custom resources.

runtime.py makes the functions of the states from their steps.
"""
