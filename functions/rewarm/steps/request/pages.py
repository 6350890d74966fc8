"""Route GET /pages/{token}: the page of a restore, for whoever has the link of a message.

A restore that has ended has its page in the bucket, and the answer leads there. Until then the page is drawn
from the record at each look, so it is never older than the restore and nothing has to write it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rewarm.domain.errors import RestoreNotFoundError
from rewarm.domain.fleets import is_fleet
from rewarm.domain.units import iso
from rewarm.ports import JsonObject
from rewarm.ports.messages import LinkedPage, PageLinks
from rewarm.steps.record.bucket import ANSWER_SECONDS, page_url
from rewarm.steps.record.restore import KnownRestore, RestoreNotes
from rewarm.steps.request.routes import GetRestorePorts, get_restore


@dataclass(frozen=True, slots=True)
class ShownPage:
    """Where the page is, or what it is drawn from."""

    url: str | None
    account: JsonObject


def show_page(token: str, *, now: datetime, links: PageLinks, ports: GetRestorePorts) -> ShownPage:
    """Returns the page that the link opens. Raises RestoreNotFoundError where the link is wrong or over."""
    page = links.page_of(token, now=now)
    if page is None:
        raise RestoreNotFoundError("the link is wrong, or its time is over")
    record = RestoreNotes(ports.table, page.restore_id).read_whole()
    url = page_url(_key(page, record), ports.artifacts, seconds=ANSWER_SECONDS)
    if url is not None:
        return ShownPage(url, {})
    account = get_restore(page.restore_id, ports) or {}
    settled = [index for index in record.indexes if record.settled(index)]
    return ShownPage(None, {**account, "at": iso(now), "running": record.goes_on, "settled": settled})


def _key(page: LinkedPage, record: KnownRestore) -> str | None:
    """The key of the page in the bucket; None where it is not written yet."""
    if page.volume_index is not None:
        return record.volume(page.volume_index).report.page_key
    has_ended = is_fleet(page.restore_id) or not record.goes_on
    return record.page_key if has_ended else None
