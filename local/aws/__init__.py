"""The embedded AWS: an emulator, the EBS Region simulator and instances that run on this machine."""
