"""Takes a volume out of its place for a new one, and puts it back after a failure.

States: Replace Check, Replace Detachment (both in replace).

- device_look: asks an instance, through Run Command, what uses a volume
- put_back: puts a replaced volume back into its place
- started: what is noted of an instance that is started with new volumes, and how that is undone
"""
