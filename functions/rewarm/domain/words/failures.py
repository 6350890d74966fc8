"""From the failure that Step Functions records to a sentence for people."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from rewarm.domain.value import Value

PLAIN = {
    "States.Timeout": "A step took longer than it is allowed to.",
    "States.TaskFailed": "A step failed.",
    "States.DataLimitExceeded": "A step answered more than Step Functions can carry.",
    "States.Runtime": "The workflow itself could not continue.",
    "Lambda.Unknown": "A function ended without an answer, for example out of memory.",
    "Runtime.ExitError": "A function's process ended without an answer, for example out of memory.",
    "Lambda.TooManyRequestsException": "Lambda ran as many functions as the account's concurrency allows.",
    "Lambda.ClientExecutionTimeoutException": "Lambda did not answer in time.",
    "Lambda.ServiceException": "Lambda failed on its side.",
    "Lambda.AWSLambdaException": "Lambda refused to run a function.",
    "Lambda.SdkClientException": "Lambda could not be reached.",
    "StepFunctions.AWSStepFunctionsException": "Step Functions refused to start a volume's execution.",
    "StepFunctions.ExecutionLimitExceededException": (
        "Step Functions runs as many executions as the account is allowed."
    ),
    "StepFunctions.ExecutionAlreadyExistsException": (
        "The volume's execution was stopped before: a restore cannot be continued by a redrive."
    ),
    "StepFunctions.SdkClientException": "Step Functions could not be reached.",
    "Sandbox.Timedout": "A function took longer than it is allowed to.",
}
MAX_DEPTH = 6
MAX_SENTENCE = 1_500


class Explanation(Value):
    """`error` is one of our names or AWS's; `sentence` is for people; `state` failed, if it is known."""

    error: str
    sentence: str
    state: str | None = None


def explain(error: str, cause: str | None) -> Explanation:
    """The error and cause inside Lambda's `{errorMessage, errorType}` and executions' `{Error, Cause}`.

    An execution of restore-volume fails with its `failure` as JSON (VolumeFailure of the contracts).
    """
    explanation = _unwrap(error, cause or "", MAX_DEPTH)
    return replace(explanation, sentence=_cut(explanation.sentence))


def _unwrap(error: str, cause: str, depth: int) -> Explanation:
    document = _object(cause)
    if document is None or depth == 0:
        return Explanation(error, _plain(error, cause))
    message = document.get("errorMessage")
    if isinstance(message, str):
        kind = str(document.get("errorType") or error)
        return Explanation(kind, _plain(kind, message))
    inner_error = document.get("Error", document.get("error"))
    inner_cause = document.get("Cause", document.get("cause"))
    if isinstance(inner_error, str):
        found = _unwrap(inner_error, inner_cause if isinstance(inner_cause, str) else "", depth - 1)
        return _with_rest(found, document, depth)
    status = document.get("Status", document.get("status"))
    if isinstance(status, str) and status != "FAILED":
        return Explanation(error, f"The execution of a volume ended as {status}.")
    return Explanation(error, _plain(error, cause))


def _with_rest(found: Explanation, failure: Mapping[str, Any], depth: int) -> Explanation:
    """With what else statemachine/restore_volume.asl.yaml keeps in its `failure`.

    These are the state that failed, why no other plan took over, and the causes of clean-ups that failed too.
    """
    sentence = found.sentence
    state = failure.get("state")
    why = failure.get("noFallback")
    if isinstance(why, str):
        sentence = f"{_ended(sentence)} {why}"
    causes = failure.get("cleanUps")
    for cause in causes if isinstance(causes, list) else ():
        clean_up = _unwrap(found.error, str(cause), depth - 1).sentence
        sentence = f"{_ended(sentence)} Clean-up failed too: {clean_up}"
    return replace(found, sentence=sentence, state=found.state or (state if isinstance(state, str) else None))


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object in the text, also where AWS has cut it at its length limit."""
    try:
        value = json.loads(text)
    except ValueError:
        return _from_fragment(text)
    return value if isinstance(value, dict) else None


def _from_fragment(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    found: dict[str, Any] = {}
    for name in ("errorMessage", "errorType", "Error", "Cause", "Status", "state", "error"):
        match = re.search(rf'"{name}"\s*:\s*("(?:[^"\\]|\\.)*")', text)
        if match:
            found[name] = json.loads(match.group(1))
    match = re.search(r'"cause"\s*:\s*("(?:[^"\\]|\\.)*)', text)
    if match:  # the last of a volume's failure, and perhaps what is cut
        with suppress(ValueError):
            found["cause"] = json.loads(match.group(1) + '"')
    return found or None


def _plain(error: str, cause: str) -> str:
    text = cause.strip()
    known = PLAIN.get(error)
    if known is None:
        return text or f"{error}, without a reason."
    if text.startswith(known):
        return text  # it was explained before
    return f"{known} {text}".strip()


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."


def _cut(sentence: str) -> str:
    return sentence if len(sentence) <= MAX_SENTENCE else f"{sentence[:MAX_SENTENCE]}…"
