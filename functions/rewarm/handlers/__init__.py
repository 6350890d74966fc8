"""Wiring only: what AWS calls, one module for each function.

Importing makes a hundred thousand objects that stay, and nothing that could be collected. Python would look
through all of them again and again meanwhile, for a quarter of a cold start.
"""

import gc

OBJECTS_BETWEEN_COLLECTIONS = 300_000
gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
