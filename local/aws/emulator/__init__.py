"""The general AWS emulator (ministack), made to behave as AWS does where Rewarm depends on it.

Each `compat_*` module mends one thing: it says why, checks that the code it mends is the code it knows, and
can be taken back. `launcher` starts and stops the emulator in this process; `deploy` deploys the real
template to it.
"""
