"""What is mended in the emulator's Step Functions."""
