"""The page of a restore: one file that needs nothing else, for a phone as for a screen."""

from rewarm.page.live import STYLE
from rewarm.page.render import render

__all__ = ["STYLE", "render"]
