"""Documents of the account and their commands, against botocore's model of SSM."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from botocore.exceptions import ReadTimeoutError

from rewarm.adapters.hooks import SsmDocuments, SsmHooks
from rewarm.domain import errors
from rewarm.ports.instances import HookCall
from tests.contract.answers import ApiError, Aws, Json

INSTANCE, COMMAND = "i-0123456789abcdef0", "01234567-0123-0123-0123-0123456789ab"
ENDED = datetime(2026, 11, 21, 3, 5, tzinfo=UTC)
DIGEST = "ab" * 32


def test_a_document_has_its_version_hash_and_tags() -> None:
    shown = {"Name": "start-orders", "DocumentVersion": "3", "Hash": DIGEST, "PlatformTypes": ["Linux"]}
    shown |= {"DocumentType": "Command", "DefaultVersion": "2"}
    ssm = Aws("ssm").on("DescribeDocument", {"Document": shown})
    ssm.on("ListTagsForResource", {"TagList": [{"Key": "rewarm:hooks", "Value": "rewarm"}]})
    found = SsmDocuments(ssm.client).find("start-orders", "$DEFAULT")
    assert found is not None
    assert (found.kind, found.version, found.sha256, found.platforms) == ("Command", "3", DIGEST, {"Linux"})
    assert (found.tags, found.default_version) == ({"rewarm:hooks": "rewarm"}, "2")
    assert ssm.params("DescribeDocument") == [{"Name": "start-orders", "DocumentVersion": "$DEFAULT"}]


@pytest.mark.parametrize("code", ["InvalidDocument", "InvalidDocumentVersion"])
def test_a_document_or_version_that_is_missing_is_none(code: str) -> None:
    ssm = Aws("ssm").on("DescribeDocument", ApiError(code))
    assert SsmDocuments(ssm.client).find("start-orders", "9") is None


def test_a_document_that_nobody_may_see_is_an_error() -> None:
    ssm = Aws("ssm").on("DescribeDocument", ApiError("AccessDeniedException"))
    with pytest.raises(errors.AccessDeniedError):
        SsmDocuments(ssm.client).find("start-orders", "9")


def hooks(ssm: Aws) -> SsmHooks:
    return SsmHooks(ssm.client, ssm.client)


def test_a_document_is_sent_with_its_version_and_hash() -> None:
    ssm = Aws("ssm").on("SendCommand", {"Command": {"CommandId": COMMAND}})
    call = HookCall("start-orders", {"service": ["orders"]}, "3", DIGEST)
    assert hooks(ssm).send(INSTANCE, call, comment="c" * 120, timeout_seconds=10) == COMMAND
    assert ssm.params("SendCommand") == [
        {
            "DocumentName": "start-orders",
            "InstanceIds": [INSTANCE],
            "Parameters": {"service": ["orders"]},
            "Comment": "c" * 100,
            "TimeoutSeconds": 30,
            "DocumentVersion": "3",
            "DocumentHash": DIGEST,
            "DocumentHashType": "Sha256",
        }
    ]


def test_the_default_version_is_sent_where_none_is_named() -> None:
    ssm = Aws("ssm").on("SendCommand", {"Command": {"CommandId": COMMAND}})
    hooks(ssm).send(INSTANCE, HookCall("mount", {}), comment="c", timeout_seconds=60)
    assert "DocumentVersion" not in ssm.params("SendCommand")[0]


def invocation(status: str, *plugins: Json) -> Json:
    answered = {"CommandId": COMMAND, "InstanceId": INSTANCE, "Status": status, "StatusDetails": status}
    return {"CommandInvocations": [{**answered, "CommandPlugins": list(plugins)}]}


def plugin(name: str, status: str, **more: object) -> Json:
    return {"Name": name, "Status": status, "ResponseCode": 0, "Output": f"of {name}", **more}


def test_a_command_that_runs_has_no_output_yet() -> None:
    ssm = Aws("ssm").on("ListCommandInvocations", invocation("InProgress", plugin("start", "InProgress")))
    found = hooks(ssm).outcome(COMMAND, INSTANCE)
    assert found is not None
    assert (found.finished, found.stdout) == (False, "")
    assert (
        hooks(Aws("ssm").on("ListCommandInvocations", {"CommandInvocations": []})).outcome(COMMAND, INSTANCE)
        is None
    )


def test_of_several_steps_the_one_that_failed_says_why() -> None:
    steps = [
        plugin("stop", "Success"),
        plugin("start", "Failed", ResponseCode=3, ResponseFinishDateTime=ENDED),
    ]
    ssm = Aws("ssm").on("ListCommandInvocations", invocation("Failed", *steps, plugin("warm", "Success")))
    ssm.on("GetCommandInvocation", {"StandardOutputContent": "out", "StandardErrorContent": "err"})
    found = hooks(ssm).outcome(COMMAND, INSTANCE)
    assert found is not None
    assert (found.status, found.exit_code, found.stdout, found.stderr) == ("Failed", 3, "out", "err")
    assert found.ended_at == ENDED
    assert ssm.params("GetCommandInvocation")[0]["PluginName"] == "start"


@pytest.mark.parametrize("error", [ApiError("InvalidPluginName"), ReadTimeoutError(endpoint_url="ssm")])
def test_where_the_whole_output_cannot_be_had_the_short_one_is_taken(error: Exception) -> None:
    ssm = Aws("ssm").on("ListCommandInvocations", invocation("Success", plugin("start", "Success")))

    def fail(_asked: Json) -> Json:
        raise error

    ssm.on("GetCommandInvocation", fail)
    found = hooks(ssm).outcome(COMMAND, INSTANCE)
    assert found is not None
    assert found.stdout == "of start"


def test_a_command_is_found_by_its_comment_and_cancelled() -> None:
    answered = [{"CommandId": COMMAND, "Comment": one, "Status": "Pending"} for one in ("ours", "another")]
    ssm = Aws("ssm").on("ListCommands", {"Commands": answered}).on("CancelCommand", {})
    assert [one.command_id for one in hooks(ssm).find("start-orders", "ours", since=ENDED)] == [COMMAND]
    hooks(ssm).cancel(COMMAND, INSTANCE)
    assert ssm.params("CancelCommand") == [{"CommandId": COMMAND, "InstanceIds": [INSTANCE]}]
