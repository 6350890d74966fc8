"""Brings a volume to full speed: sends the agent, follows it and AWS, and waits.

- agent_command: the agent's command line, its place in the bucket, and that it is sent once
- wake_up: ends a wait when an event of AWS arrives
"""
