"""The command line `rewarm`: what a user runs against a stack in an AWS account."""
