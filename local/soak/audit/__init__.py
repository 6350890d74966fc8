"""What a restore must not leave, harm or keep from people."""
