"""Answers the API without IAM's signatures: pages of restores, and buttons that are pressed in Slack.

Everybody can call it, so each route checks what it gets before it does anything, and never says why it
refuses. What only pages or only clicks need is imported and made when the first is asked for.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm import wiring
from rewarm.domain.errors import RestoreError, RestoreNotFoundError
from rewarm.observability import logger, tracer
from rewarm.ports import JsonObject
from rewarm.runtime import filled
from rewarm.wiring import now

if TYPE_CHECKING:
    from rewarm.adapters.channels.slack_requests import SlackRequests
    from rewarm.steps.request.approval import ApproveRestorePorts, Clickers
    from rewarm.steps.request.routes import GetRestorePorts

PAGES, INTERACTIONS = "/pages/", "/slack/interactions"
HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
NO_PAGE = "This link is wrong, or its time is over. A newer message, or `rewarm report`, has a new one.\n"

_LINKS = wiring.links()


@cache
def _shown() -> GetRestorePorts:
    from rewarm.steps.request.routes import GetRestorePorts

    return filled(GetRestorePorts, witness=None, links=None, way_back=None)


@cache
def _slack() -> SlackRequests | None:
    return wiring.slack_requests()


@cache
def _clicked() -> ApproveRestorePorts:
    from rewarm.steps.request.approval import ApproveRestorePorts

    return filled(ApproveRestorePorts, witness=None)


@cache
def _clickers() -> Clickers:
    from rewarm.steps.request.approval import Clickers

    return Clickers(wiring.settings.slack_team_id, wiring.settings.slack_approvers)


@tracer.capture_lambda_handler(capture_response=False)
@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: JsonObject, _context: LambdaContext) -> JsonObject:
    """One HTTP request."""
    method = str(event.get("httpMethod"))
    path = str(event.get("path"))
    if method == "GET" and path.startswith(PAGES):
        return _page(unquote(path.removeprefix(PAGES)))
    if method == "POST" and path == INTERACTIONS and (slack := _slack()) is not None:
        return _click(event, slack)
    return _answer(404, TEXT, "")


def _page(token: str) -> JsonObject:
    from rewarm.restore_page import drawn_live
    from rewarm.steps.request.routes import show_page

    try:
        shown = show_page(token, now=now(), links=_LINKS, ports=_shown())
        if shown.url is not None:
            return _answer(302, TEXT, "", Location=shown.url)
        return _answer(200, HTML, drawn_live(shown.account))
    except RestoreNotFoundError:
        return _answer(404, TEXT, NO_PAGE)
    except RestoreError as error:
        logger.warning("no page", error=type(error).__name__, reason=str(error))
        return _answer(503, TEXT, "The page cannot be shown now. Try again in a minute.\n")


def _click(event: JsonObject, slack: SlackRequests) -> JsonObject:
    """Slack gets 200 for everything that it has signed; the person who clicked reads the outcome in Slack."""
    from rewarm.adapters.channels.slack_requests import body_of
    from rewarm.steps.request.approval import Reply, press_button

    body = body_of(event)
    payload = slack.payload(event.get("headers") or {}, body) if body is not None else None
    if payload is None:
        return _answer(413 if body is None else 401, TEXT, "")
    try:
        reply = press_button(payload, now=now(), clickers=_clickers(), ports=_clicked())
    except RestoreError as error:
        logger.warning("a click came to nothing", error=type(error).__name__, reason=str(error))
        reply = Reply("Nothing was done: AWS did not answer. Press it again.", is_done=False)
    if reply is not None:
        logger.info("clicked", done=reply.is_done, reply=reply.sentence)
        (slack.change if reply.is_done else slack.tell)(payload, reply.sentence)
    return _answer(200, TEXT, "")


def _answer(status: int, content_type: str, body: str, **headers: str) -> JsonObject:
    """An answer whose headers forbid caching, search engines, framing, and sending its address elsewhere."""
    fixed = {
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Robots-Tag": "noindex",
        "Content-Security-Policy": "frame-ancestors 'none'",
    }
    return {
        "statusCode": status,
        "headers": {"Content-Type": content_type, "X-Content-Type-Options": "nosniff", **fixed, **headers},
        "body": body,
    }
