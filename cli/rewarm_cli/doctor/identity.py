"""Who calls, which stack, does its API answer, and who gets messages about restores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rewarm_cli import __version__, words
from rewarm_cli.account import DEPLOY
from rewarm_cli.doctor.account import Account, NoAnswerError
from rewarm_cli.doctor.findings import Finding, ok, problem, unknown, warning
from rewarm_cli.problems import WAYS_IN

Json = dict[str, Any]

NAMES_OF_REWARM = {"ApiUrl", "ArtifactsBucket", "RestoresTable"}
PARTS = {
    "PublicPages": "pages that links open",
    "Applications": "bringing applications back",
    "InstanceStarts": "starts of instances",
    "Fleets": "fleets",
    "Drills": "drills",
    "Rewinds": "rewinds and direct writes",
    "PerformanceChanges": "changes of performance",
    "Calibration": "calibration",
    "RestoreTesting": "verdicts on restore tests",
}
"""The parameters that choose parts, and what each is for."""
DONE = {"CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE"}
DONE_BEFORE = {"UPDATE_ROLLBACK_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"}
"""The last change failed, and the stack is as it was."""


def credentials(account: Account) -> Iterator[Finding]:
    """AWS accepts the credentials, and there is a Region."""
    if account.region is None:
        yield problem("Region", "there is no Region", "set AWS_REGION, or use --region")
        return
    yield ok("Region", f"{account.region}, partition {account.partition}")
    try:
        identity = account.ask("sts", "GetCallerIdentity")
    except NoAnswerError as error:
        yield problem("credentials", str(error), "log in again, or choose another profile with --profile")
        return
    account.caller = identity["Arn"]
    account.account_id = identity["Account"]
    yield ok("credentials", f"{account.caller} in account {account.account_id}")


def stack(account: Account) -> Iterator[Finding]:
    """The stack exists, is complete, and has this command's version."""
    name = account.settings.stack
    try:
        found = account.ask("cloudformation", "DescribeStacks", StackName=name)["Stacks"][0]
    except NoAnswerError as error:
        # CloudFormation API reference, DescribeStacks: a stack that does not exist is a ValidationError.
        if error.code != "ValidationError":
            raise
        yield problem("stack", f"there is no stack {name} in {account.region}", DEPLOY)
        return
    outputs = account.stack.outputs
    parameters = account.stack.parameters
    outputs |= {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}
    parameters |= {
        parameter["ParameterKey"]: parameter.get("ParameterValue", "")
        for parameter in found.get("Parameters", [])
    }
    yield _state(name, found)
    if not outputs.keys() >= NAMES_OF_REWARM:
        yield problem("outputs", f"{name} has no outputs of Rewarm, such as ApiUrl", DEPLOY)
        return
    yield from _version(outputs.get("Version"))
    listed = account.pages("cloudformation", "ListStackResources", "StackResourceSummaries", StackName=name)
    account.stack.resources |= {
        resource["LogicalResourceId"]: resource.get("PhysicalResourceId", "") for resource in listed
    }


def parts(account: Account) -> Iterator[Finding]:
    """Which parts the stack has, and which ones its parameters leave out."""
    chosen = {name: value for name, value in account.stack.parameters.items() if name in PARTS}
    if not chosen:
        yield unknown("parts", "the stack does not say which parts it has", "see the stack")
        return
    for value, what in (("yes", "parts"), ("no", "parts left out")):
        names = [f"{name} ({words})" for name, words in PARTS.items() if chosen.get(name) == value]
        if names:
            yield ok(what, ", ".join(names))


def _state(name: str, found: Json) -> Finding:
    status = str(found["StackStatus"])
    changed = found.get("LastUpdatedTime") or found.get("CreationTime")
    text = f"{name} is {status}" + (f" since {words.clock(str(changed))}" if changed else "")
    if status in DONE:
        return ok("stack", text)
    if status.endswith("IN_PROGRESS"):
        return warning("stack", text, "wait until CloudFormation has finished, then run it again")
    if status in DONE_BEFORE:
        return warning("stack", f"{text}: its last change failed", "see its events, and make deploy again")
    return problem("stack", text, "see its events in CloudFormation, and make deploy again")


def _version(version: str | None) -> Iterator[Finding]:
    if version == __version__:
        yield ok("version", f"stack and command are {version}")
    elif version is not None:
        found = f"the stack is {version}, this command {__version__}"
        yield warning("version", found, "bring both to one version")


def api(account: Account) -> Iterator[Finding]:
    """The API answers these credentials."""
    from rewarm_cli.account import StackUnreachableError, api_of

    settings = account.settings
    url = settings.api_url or account.stack.outputs.get("ApiUrl")
    if url is None:
        yield unknown("API", "its address is not known, for want of the stack", DEPLOY)
        return
    try:
        caller = api_of(settings.stack, url, account.region, settings.profile)
        answer = caller.call("GET", "/restores?limit=1")
    except (OSError, StackUnreachableError) as error:
        yield problem("API", f"{url} cannot be reached: {error}", "check the network between here and AWS")
        return
    if answer.status == 200:
        yield ok("API", f"{url} answers these credentials")
        return
    said = answer.body.get("detail") or answer.body.get("message") or "no reason"
    todo = "see the log group of the stack's functions"
    if answer.status in {401, 403}:
        todo = WAYS_IN.get(answer.body.get("error"), todo)
    yield problem("API", f"{url} answers {answer.status}: {said}", todo)


def messages(account: Account) -> Iterator[Finding]:
    """Somebody gets messages about restores."""
    outputs = account.stack.outputs
    if "NotificationTopicArn" not in outputs:
        yield unknown("messages", "the topics are not known, for want of the stack", DEPLOY)
        return
    has_slack = any(name.startswith("Slack") for name in account.stack.resources)
    if has_slack:
        yield ok("Slack", "is configured")
    topics = [outputs[key] for key in ("NotificationTopicArn", "ChatTopicArn") if key in outputs]
    listed = [
        subscription
        for topic in topics
        for subscription in account.pages("sns", "ListSubscriptionsByTopic", "Subscriptions", TopicArn=topic)
    ]
    mails = [subscription for subscription in listed if subscription["Protocol"].startswith("email")]
    yield from _mail(mails, account.stack.parameters.get("NotificationEmail", ""))
    others = [subscription["Protocol"] for subscription in listed if subscription not in mails]
    if others:
        named = ", ".join(sorted(set(others)))
        yield ok("subscribers", f"{words.count(len(others), 'subscription')} ({named})")
    if not listed and not has_slack:
        yield warning(
            "messages",
            "nobody hears of restores: there is no Slack, no e-mail and no subscriber",
            "deploy with the parameters NotificationEmail or SlackWebhookUrl",
        )


def _mail(mails: list[dict[str, str]], wanted: str) -> Iterator[Finding]:
    for mail in mails:
        address = mail.get("Endpoint", "")
        if mail["SubscriptionArn"].startswith("arn:"):
            yield ok("e-mail", f"{address} is confirmed")
        else:
            found = f"{address} has not confirmed its subscription, so AWS sends it nothing"
            yield problem("e-mail", found, "open the link in AWS's mail; subscribing again sends another one")
    if wanted and wanted not in {mail.get("Endpoint") for mail in mails}:
        found = f"{wanted} is the stack's address, and has no subscription"
        yield problem(
            "e-mail", found, "subscribe it again to the stack's topic (output NotificationTopicArn)"
        )
