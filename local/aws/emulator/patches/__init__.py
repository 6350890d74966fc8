"""What each patch of the emulator mends: one module each, with its reason."""
