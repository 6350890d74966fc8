"""The HTML report of a run: one file that needs nothing else, for a phone as for a screen."""

from local.tools.run.report.page import write_report

__all__ = ["write_report"]
