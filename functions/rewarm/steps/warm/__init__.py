"""Brings a volume to full speed: sends the agent, follows it and AWS, and waits.

- agent_command: the command that runs the agent, sent once, and an instance of it that is lost
- observe: the command that records what is read, for later restores
- unseen: looks at an initialization that AWS does not answer
- wake_up: ends a wait when an event of AWS arrives
"""
