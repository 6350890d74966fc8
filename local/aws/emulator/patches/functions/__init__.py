"""What is mended in the emulator's Lambda."""
