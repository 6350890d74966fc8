"""Brings a volume to full speed: sends the agent, follows it and AWS, and waits.

States: Dispatch Warmer, Poll Initialization, Await Signal.

- agent_command: the agent's command line and its place in the bucket
- restart_warmer: sends the agent again after an interruption
- sent_once: finds a command that an earlier try may have sent
- wake_up: ends a wait when an event of AWS arrives
"""
