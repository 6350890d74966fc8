"""Which media type the caller gets."""

from __future__ import annotations

import pytest

from rewarm.handlers.http import preferred

JSON, SVG = "application/json", "image/svg+xml"


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (None, JSON), ("", JSON), ("*/*", JSON), ("application/json", JSON), ("image/svg+xml", SVG),
        ("image/*", SVG), ("IMAGE/SVG+XML", SVG), ("image/svg+xml, */*;q=0.1", SVG),
        ("application/json;q=0.4, image/svg+xml;q=0.5", SVG), ("image/svg+xml;charset=utf-8", SVG),
        ("image/svg+xml;q=0, */*", JSON), ("*/*;q=0.5, application/json;q=0", SVG),
        ("text/html", None), ("image/png", None), ("*/*;q=0", None), ("application/json;q=0", None),
        ("image/svg+xml;q=much", SVG), (",,", JSON),
    ],
)  # fmt: skip
def test_the_callers_weights_decide(accept, wanted):
    assert preferred(accept, (JSON, SVG)) == wanted
