"""Takes a volume out of its place for a new one, and puts it back after a failure.

- device_look: asks an instance, through Run Command, what uses a volume
- put_back: puts a replaced volume back into its place
- swap_root: has EC2 make a volume the root volume of a running instance
- started: what the record says of an instance that is started with new volumes, and how that is undone
"""
