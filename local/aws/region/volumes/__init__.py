"""EC2's operations on volumes and their attachments."""
