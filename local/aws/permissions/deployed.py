"""docs/deployed.md, what a security team reads first, and README.md's counts, made from the template.

`make permissions-docs` writes both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache

import yaml

from local import ROOT, Json, parts, yaml_text
from local.aws.permissions import roles
from local.aws.permissions.documentation import conditions_of, listed, statements_of, text

PAGE = ROOT / "docs" / "deployed.md"
README = ROOT / "README.md"
KINDS = {
    "AWS::Lambda::Function": "Lambda functions, each with its own role",
    "AWS::StepFunctions::StateMachine": "Step Functions state machines",
    "AWS::SSM::Document": "SSM documents, which run as root or SYSTEM on instances",
    "AWS::IAM::Role": "IAM roles",
    "AWS::IAM::ManagedPolicy": "IAM managed policies that roles share",
    "AWS::ApiGateway::RestApi": "REST APIs: one for signed requests, one that everybody can call",
    "AWS::ApiGatewayV2::Api": "HTTP API for tokens, only with `JwtIssuer`",
    "AWS::DynamoDB::Table": "DynamoDB tables",
    "AWS::S3::Bucket": "S3 bucket",
    "AWS::Events::Rule": "EventBridge rules",
    "AWS::SNS::Topic": "SNS topics",
    "AWS::SQS::Queue": "SQS queues for events that could not be delivered",
    "AWS::SecretsManager::Secret": "secrets, only with Slack",
    "AWS::CloudWatch::Alarm": "CloudWatch alarms about Rewarm itself",
}
"""Kind of resource -> how the page calls it; resources of other kinds belong to one of these."""
STRONGEST = {
    "ssm:SendCommand": "runs a document as root on an instance: the warm-up agent, the agent that writes "
    "blocks, the question what uses a volume, benchmarks, and the user's own document after a restore",
    "ec2:DeleteVolume": "removes the volume of a failed restore, of a drill, or of a calibration",
    "ec2:DetachVolume": "moves a replaced volume out of its place, and a failed volume or that of a restore "
    "test off its instance",
    "ec2:CreateReplaceRootVolumeTask": "swaps the root volume of a running instance, where a request says so",
    "ec2:StopInstances": "stops an instance that Rewarm started with new volumes and that did not come up",
    "ec2:ModifyVolume": "changes a volume's performance, where POST /volumes/… asks for it, and ends a boost",
    "ec2:DeleteSnapshot": "deletes copies of other Regions' snapshots, and what a calibration made",
    "ec2:ModifyInstanceAttribute": "sets DeleteOnTermination of a volume; all other attributes are denied",
    "kms:CreateGrant": "lets EC2 use the key of an encrypted volume or snapshot",
    "s3:DeleteObject": "deletes an undo log that its owner asks to delete, and agents of an older version",
}
"""Action -> why somebody in the stack needs it."""
_HEAD = """# What is deployed

`make permissions-docs` writes this page from `template.yaml`. [permissions.md](permissions.md) has every
statement of every role, and [SECURITY.md](../SECURITY.md) says what is protected and what remains.

```mermaid
flowchart LR
  subgraph callers [outside: who calls]
    people([people and programs with IAM credentials])
    tokens([callers with a token])
    buttons([Slack's buttons])
    anyone([whoever has a page's link])
  end
  subgraph account [your account and Region]
    alarms[CloudWatch alarms, EventBridge schedules]
    subgraph stack [the stack]
      api[REST API, signed]
      jwt[HTTP API, tokens]
      public[REST API that everybody can call]
      machines[state machines and their functions]
      kept[(table and bucket)]
    end
    ec2[EBS volumes and snapshots, EC2 instances]
    agent[agent and documents: root on your instances]
    bus[EventBridge bus, SNS topics]
  end
  channels([outside: Slack, e-mail])
  people -- Signature Version 4 --> api
  tokens -- JSON Web Token --> jwt
  buttons -- Slack's signature --> public
  anyone -- token in the link --> public
  api --> machines
  jwt --> machines
  public -- approve, cancel --> machines
  alarms ---> machines
  machines --> kept
  machines -- IAM: tags and records --> ec2
  machines -- SSM Run Command --> agent
  machines --> bus
  agent -- presigned addresses --> kept
  bus --> channels
  machines -- messages --> channels
```

What leaves the account are the messages to Slack and e-mail, and pages that somebody opens by their link.
Messages name restores, volumes, instances, prices and who asked. No data of a volume leaves the account.

The stack with its defaults, with every [part](../README.md#parts-of-the-stack), and with none has:

| default | every part | no part | what |
|---|---|---|---|
"""
_STRONGEST_HEAD = """
## The ten strongest permissions

| action | who has it | why | only where |
|---|---|---|---|
"""
_ENDPOINTS = """
## Public endpoints

| endpoint | who may call | what is checked |
|---|---|---|
| output `ApiUrl` | callers whose IAM policy allows `execute-api:Invoke` | IAM's signature, by API Gateway |
| output `JwtApiUrl` | callers with a token of `JwtIssuer` | signature, times and scopes, by API Gateway |
| output `PagesUrl`, `GET /pages/{token}` | whoever has the link | the token, by `PublicFunction` |
| output `PagesUrl`, `POST /slack/interactions` | Slack | signature and time, by `PublicFunction` |
"""


@cache
def stacks() -> Mapping[str, Json]:
    """What CloudFormation gets of the stack with its defaults, with every part, and with none."""
    whole = yaml_text.template()
    choices = {"default": {}, "every part": parts.every(whole), "no part": parts.every(whole, "no")}
    return {name: roles.whole(**chosen) for name, chosen in choices.items()}


def kinds(template: Json) -> Counter[str]:
    """How many resources of each kind there are."""
    return Counter(resource["Type"] for resource in template["Resources"].values())


def readme(text: str) -> str:
    """README.md with the counts of the three stacks."""
    rows = []
    for name, template in stacks().items():
        found, lines = kinds(template), len(yaml.safe_dump(template, width=10_000).splitlines())
        rows.append(f"| {name} | {found['AWS::Lambda::Function']} | {found[roles.ROLE]} | {lines:,} |\n")
    return re.sub(r"(?<=\n)(\| stack \|.*\n\|---.*\n)(\|.*\n)+", lambda table: table[1] + "".join(rows), text)


def page() -> str:
    """The whole page."""
    deployed = roles.resources()
    counted = [kinds(template) for template in stacks().values()]
    rows = "".join(
        f"| {' | '.join(str(one[kind]) for one in counted)} | {name} |\n" for kind, name in KINDS.items()
    )
    strongest = "".join(f"| {' | '.join(row)} |\n" for row in _strongest(deployed))
    return f"{_HEAD}{rows}{_STRONGEST_HEAD}{strongest}{_ENDPOINTS}"


def _strongest(deployed: Json) -> Iterator[tuple[str, ...]]:
    for action, why in STRONGEST.items():
        owners: dict[str, None] = {}
        limits: dict[str, None] = {}
        for role, resource in sorted(deployed.items()):
            for statement in statements_of(role, deployed) if resource["Type"] == roles.ROLE else ():
                if statement["Effect"] == "Allow" and action in listed(statement["Action"]):
                    owners[f"`{role.removesuffix('Role')}`"] = None
                    limits |= dict.fromkeys(_limits(statement))
        yield f"`{action}`", ", ".join(owners), why, "; ".join(limits)


def _limits(statement: Json) -> Iterator[str]:
    """What the statement holds for: its conditions, or else its resources."""
    found = list(conditions_of(statement.get("Condition", {})))
    yield from found or (f"`{text(resource)}`" for resource in listed(statement["Resource"]))


def main() -> None:
    """Write the page, and README.md's counts."""
    PAGE.write_text(page(), encoding="utf-8")
    README.write_text(readme(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
