"""The page of a restore in a real browser: nothing asked for, nothing complained of, and it fits a phone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local.tools.run.report.page import render as report_of_run
from rewarm.page import live, render
from tests.support import browser
from tests.support.browser import Browser
from tests.support.builders import RESTORE_ID, World
from tests.support.loopback import Loopback, QuietHandler
from tests.support.pages import Page as LinkedPage
from tests.support.pages import is_of
from tests.support.values import accounts
from tests.support.values.run_recordings import recorded_run
from tests.unit.page.test_live import RUNNING_VOLUMES
from tests.unit.page.test_page import poisoned

Json = dict[str, Any]
WIDTHS = (360, 768, 1_280)
LEAST_CONTRAST = 4.5
"""WCAG 2.2, success criterion 1.4.3, level AA."""
CUT = """
[...document.querySelectorAll('div.scroll:has(> .stack)')].filter(one => one.scrollWidth > one.clientWidth + 1
).map(one => one.textContent.slice(0, 80))
"""
"""Tables that show their end only to who moves them."""
IDS = """
(() => {
  const found = [], range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (text.parentElement.closest("style, pre, svg")) continue;
    for (const one of text.data.matchAll(/(?:vol|snap|i|restore)-[0-9a-f]{8,17}(?![0-9a-f-])/g)) {
      range.setStart(text, one.index);
      range.setEnd(text, one.index + one[0].length);
      found.push({id: one[0], parts: range.getClientRects().length});
    }
  }
  return found;
})()
"""
SPILLED = """
[...document.querySelectorAll('data')].filter(one => one.getClientRects().length
  && one.getBoundingClientRect().right > one.parentElement.getBoundingClientRect().right + 1
).map(one => one.outerHTML)
"""
"""Figures that lie over what stands beside them."""
CONTRASTS = """
(() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => parts(colour).slice(0, 3).map(value => value / 255)
    .map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
  const below = node => {
    for (let one = node; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (parts(colour).length === 3 || parts(colour)[3] === 1) return colour;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  const found = [];
  const words = 'h1, h2, h3, p, th, td, dt, dd, li, span, strong, small, summary';
  for (const node of document.querySelectorAll(words)) {
    if (!node.textContent.trim() || !node.getClientRects().length) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(below(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const text = node.textContent.trim().slice(0, 40);
    if (ratio < LEAST) found.push(`${node.tagName}.${node.className} ${ratio.toFixed(2)} ${text}`);
  }
  return [...new Set(found)];
})()
""".replace("LEAST", str(LEAST_CONTRAST))


def failed_account() -> Json:
    """Of two volumes one failed, after it was attached."""
    world = World()
    accounts.keep_samples(world, 0, accounts.series(330, 9))
    accounts.keep_samples(world, 1, accounts.series(120, 3))
    story = {name: accounts.ready(1)[name] for name in ("timeline", "before", "plan", "dispatch")}
    world.table.update_volume(
        RESTORE_ID,
        1,
        {
            "story": story,
            "volume": {"volumeId": "vol-00000000000000002"},
            "cleanUp": {"removed": [], "kept": ["volume vol-00000000000000002 (it may hold new data)"]},
        },
    )
    plans = [accounts.planned(0), accounts.planned(1)]
    return accounts.reported(world, plans, [accounts.ready(0), accounts.failed(1)])[1]


def long_account() -> Json:
    """Two days in the background, with names as long as AWS allows."""
    world = World()
    accounts.keep_samples(world, 0, accounts.series(48 * 3_600, 5_000))
    tags = {"k" * 128: "v" * 256}
    one = accounts.planned()
    volume = replace(one.volume.volume, tags=tags)
    long = one.model_copy(update={"volume": one.volume.model_copy(update={"volume": volume})})
    return accounts.reported(world, [long], [accounts.ready()])[1]


ACCOUNTS = {
    "ready": lambda: accounts.ready_account()[1],
    "failed": failed_account,
    "long": long_account,
    "nonsense": lambda: poisoned(json.loads(json.dumps(accounts.ready_account()[1]))),
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.started() as found:
        yield found


@pytest.fixture(scope="module", params=sorted(ACCOUNTS))
def served(request: pytest.FixtureRequest) -> Iterator[tuple[str, Json]]:
    """The page on loopback, and its account."""
    account = ACCOUNTS[request.param]()
    body = render(account).encode()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = Loopback(Handler, "/report.html")
    yield server.url, account
    server.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_of_a_restore_that_runs_fits(chromium: Browser, tmp_path: Path, width: int) -> None:
    page = tmp_path / "page.html"
    page.write_text(live.render(RUNNING_VOLUMES), encoding="utf-8")
    chromium.open(page.as_uri(), width=width)
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width
    assert chromium.evaluate(CUT) == []
    assert chromium.complaints() == []


@pytest.mark.parametrize("width", WIDTHS)
def test_no_id_is_broken_at_its_hyphen(chromium: Browser, served: tuple[str, Json], width: int) -> None:
    """An id lies in one rectangle of the page: `vol-` at the end of a line names nothing."""
    url, _ = served
    chromium.open(url, width=width)
    assert chromium.evaluate(f"({IDS}).length") > 1
    assert chromium.evaluate(f"({IDS}).filter(one => one.parts > 1).map(one => one.id)") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_loads_alone_without_complaint_and_fits(
    chromium: Browser, served: tuple[str, Json], width: int, scheme: str
) -> None:
    url, _ = served
    dark = scheme == "dark"
    chromium.open(url, width=width, dark=dark)
    assert chromium.status() == 200
    assert chromium.requests() == [url]
    assert chromium.complaints() == []
    assert chromium.evaluate("window.innerWidth") == width
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width
    assert chromium.evaluate(SPILLED) == []
    assert chromium.evaluate(CUT) == []
    assert chromium.evaluate("document.querySelectorAll('script, iframe, img, object, embed').length") == 0
    background = chromium.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(17, 22, 28)" if dark else "rgb(246, 247, 249)")
    assert chromium.evaluate(CONTRASTS) == []


def test_its_figures_are_those_of_the_account(chromium: Browser, served: tuple[str, Json]) -> None:
    url, account = served
    chromium.open(url)
    found = chromium.evaluate("[...document.querySelectorAll('data')].map(one => one.outerHTML)")
    seen = LinkedPage(url, 200, "text/html", "".join(found))
    assert len(seen.figures) > 10
    assert is_of(seen, account)
    heading = chromium.evaluate("document.querySelector('h1').innerText")
    assert heading.startswith("Ready" if account["verdict"] == "ready" else "Failed")
    assert chromium.evaluate("document.querySelector('h1').getBoundingClientRect().bottom") < 300


def test_pictures_are_seen_and_named(chromium: Browser, served: tuple[str, Json]) -> None:
    url, _ = served
    shown = (
        "[...document.querySelectorAll('figure svg')].filter(one => one.getBoundingClientRect().width > 0)"
    )
    for width in WIDTHS:
        chromium.open(url, width=width)
        sizes = chromium.evaluate(f"{shown}.map(one => one.getBoundingClientRect().width)")
        assert len(sizes) >= 3
        assert all(150 < size <= width for size in sizes)
        # Small, and still readable: a text of 10 points that is shown at two thirds of its size.
        texts = f"{shown}.flatMap(one => [...one.querySelectorAll('text')])"
        heights = chromium.evaluate(f"{texts}.map(one => one.getBoundingClientRect().height)")
        assert min(heights) >= 6.5
        labels = chromium.evaluate(f"{shown}.map(one => one.getAttribute('aria-label'))")
        assert all(labels)


def test_words_from_outside_do_nothing(chromium: Browser, served: tuple[str, Json]) -> None:
    url, account = served
    chromium.open(url)
    assert chromium.evaluate("typeof window.alerted") == "undefined"
    dialogs = [event for event in chromium.events if event.get("method") == "Page.javascriptDialogOpening"]
    assert dialogs == []
    if "<script>" in account["restoreId"]:
        text = re.sub(r"\s+", " ", chromium.evaluate("document.body.innerText"))
        assert account["restoreId"] in text


@pytest.mark.parametrize("width", WIDTHS)
def test_the_report_of_a_run_fits_as_well(chromium: Browser, tmp_path: Path, width: int) -> None:
    path = tmp_path / "run.html"
    path.write_text(report_of_run(recorded_run()), encoding="utf-8")
    chromium.open(path.as_uri(), width=width)
    assert chromium.complaints() == []
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width


def test_it_opens_from_a_file_too(chromium: Browser, tmp_path: Path) -> None:
    """As somebody keeps it for the file of the incident."""
    path = tmp_path / "report.html"
    path.write_text(render(accounts.ready_account()[1]), encoding="utf-8")
    chromium.open(path.as_uri())
    assert chromium.requests() == [path.as_uri()]
    assert chromium.complaints() == []
    assert "Ready" in chromium.evaluate("document.title")
