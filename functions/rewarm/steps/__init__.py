"""What each state of the state machines does: gather through ports, decide in the domain, apply through ports."""
