"""Serves the state Check Approval."""

from __future__ import annotations

from rewarm.contracts import CheckApprovalEvent, CheckApprovalResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.request.check_approval import check_approval

_TABLE = wiring.table()


@step_handler(CheckApprovalEvent)
def lambda_handler(event: CheckApprovalEvent) -> CheckApprovalResult:
    """Whether the restore goes on."""
    return check_approval(event, table=_TABLE)
