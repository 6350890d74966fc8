"""What a command of `rewarm` or of a document meets."""
