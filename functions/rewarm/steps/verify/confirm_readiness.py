"""State `Confirm Readiness`: what VolumeReadOps says of volumes that were called ready, as a second witness.

The agent's account and the random reads have decided. CloudWatch shows the first whole minute after them some
minutes later, so it can only confirm or contradict them. Report and messages say which.
"""

from __future__ import annotations

from datetime import timedelta

from rewarm.contracts.base import Contract, JsonObject, StepEvent, WaitSeconds
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import Confirmation
from rewarm.domain.ready.reads import first_minute_over, judge_reads, p99_limit_ms
from rewarm.domain.ready.waits import metric_wait_seconds
from rewarm.domain.value import Value
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.volumes import Metrics
from rewarm.steps.record.payloads import read_plan, whole_result
from rewarm.steps.record.restore import parsed_time
from rewarm.steps.registration import state


class ConfirmReadinessResult(Contract):
    """What VolumeReadOps says of each volume that the agent read and that was measured."""

    finished: bool
    wait_seconds: WaitSeconds
    confirmations: list[Confirmation]


class ConfirmReadinessEvent(StepEvent):
    """Asks what VolumeReadOps says of the volumes that were called ready; `results` are as for ReportEvent.

    `pending` is the result of the call before.
    """

    request: RestoreRequest
    results: list[JsonObject]
    pending: ConfirmReadinessResult | None = None


class ConfirmReadinessPorts(Value, kw_only=True):
    """The ports that confirm_readiness needs."""

    metrics: Metrics
    artifacts: Artifacts


@state("Confirm Readiness")
def confirm_readiness(event: ConfirmReadinessEvent, ports: ConfirmReadinessPorts) -> ConfirmReadinessResult:
    """Returns what is known by now. Finished once CloudWatch has a verdict on each volume, or is late.

    Returns no confirmations if VolumeReadOps has nothing to add, because no agent has read the volume or
    VolumeReadOps was waited for before. Nor if the message of a ready volume is missing: the sweeper sends
    it once this execution has ended (clean_up/missing_reports.py). Raises RequestRefusedError if the results
    are gone.
    """
    known = event.pending.confirmations if event.pending else _expected(event, ports.artifacts)
    found = [_judged(confirmation, event, ports.metrics) for confirmation in known]
    waits = [_wait(confirmation, event) for confirmation in found if confirmation.opinion is None]
    return ConfirmReadinessResult(finished=not waits, wait_seconds=min(waits, default=1), confirmations=found)


def _expected(event: ConfirmReadinessEvent, artifacts: Artifacts) -> list[Confirmation]:
    has_unsent_message = any(result.get("announced") is False for result in event.results)
    if event.request.is_drill:
        return []  # its volumes are deleted
    if has_unsent_message or event.request.readiness.metrics_patience_seconds == 0:
        return []
    found = [_of_volume(whole_result(result, artifacts), event, artifacts) for result in event.results]
    return [confirmation for confirmation in found if confirmation is not None]


def _of_volume(result: JsonObject, event: ConfirmReadinessEvent, artifacts: Artifacts) -> Confirmation | None:
    """The confirmation to wait for; None if nothing was measured or no agent has read."""
    dispatch = result.get("dispatch")
    after = result.get("after") or {}
    ready_at = parsed_time(result.get("readyAt"))
    if not dispatch or not after.get("result") or ready_at is None:
        return None
    planned = read_plan(event.restore_id, result["index"], artifacts).volume
    if planned.rewinds is not None:
        return None  # its agent wrote blocks, so VolumeReadOps shows nothing
    volume = planned.volume
    return Confirmation(
        index=result["index"],
        volume_id=result["volumeId"],
        since=ready_at,
        level_before=dispatch["readOpsBefore"],
        warm_read_ms=p99_limit_ms(event.request.verify.max_p99_ms, volume.settings()),
    )


def _judged(known: Confirmation, event: ConfirmReadinessEvent, metrics: Metrics) -> Confirmation:
    if known.opinion is not None:
        return known
    rule = event.request.readiness.stable_rule(known.warm_read_ms)
    activity = metrics.read_activity(known.volume_id, since=known.since, until=event.now)
    verdict = judge_reads(activity, rule, level_before=known.level_before, ended=known.since, now=event.now)
    if not verdict.settled:
        return known.model_copy(update={"reason": verdict.reason})
    return known.model_copy(update={"opinion": verdict.opinion, "reason": verdict.reason})


def _wait(known: Confirmation, event: ConfirmReadinessEvent) -> int:
    patience = timedelta(seconds=event.request.readiness.metrics_patience_seconds)
    left = (known.since + patience - event.now).total_seconds()
    return metric_wait_seconds(left, (first_minute_over(known.since) - event.now).total_seconds())
