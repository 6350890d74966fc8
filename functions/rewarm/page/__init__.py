"""The page of a restore: one file that needs nothing else, for a phone as for a screen."""

from rewarm.page.render import STYLE, render

__all__ = ["STYLE", "render"]
