"""What each state does: gather through ports, decide in the domain, apply through ports."""
