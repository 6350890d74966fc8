"""What is mended in how the emulator deploys a stack, and in what a stack may do."""
