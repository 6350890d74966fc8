"""`rewarm rule`: which new volumes are brought to full speed by themselves."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.asking import agree, asks, takes_yes
from rewarm_cli.commands.showing import pages, takes_limit
from rewarm_cli.inputs import Known
from rewarm_cli.output import echo, say
from rewarm_cli.requests import as_file, read
from rewarm_cli.settings import Commands, Settings, examples, takes_settings

if TYPE_CHECKING:
    from rewarm_cli.api import Api

Json = dict[str, Any]
SHOWN = ("readyP90At", "totalCostUsd")
"""Of the plan of an adoption."""
NAME = click.argument("name", type=Known("rules"), metavar="NAME")


@click.group(cls=Commands)
def rule() -> None:
    """Say which new volumes are brought to full speed by themselves."""


@rule.command("put", epilog=examples("rewarm rule put kubernetes -f docs/rules/kubernetes.yaml"))
@NAME
@click.option("-f", "--file", required=True, metavar="FILE", help="The rule as JSON or YAML; - reads it.")
@takes_yes
@takes_settings
def put_rule(settings: Settings, name: str, *, file: str, yes: bool) -> None:
    """Store a rule; it looks at volumes that are made from now on.

    Where another rule has this name, it shows what differs and asks.
    """
    from rewarm_cli.commands.replacing import put_stored

    answer = put_stored(settings, ("rules", name), read(file), f"the rule {name}", yes=yes)
    if not settings.for_people:
        settings.emit(answer)
        return
    acts = answer["rule"]["mode"] == "act"
    does = "adopts new volumes" if acts else "says what it would adopt, and adopts nothing"
    say(f"The rule {name} is stored. From now on it {does}.")
    say(f"`{words.command('rule', 'check', name)}` lists what it fits in the Region now.")


@rule.command("get")
@NAME
@takes_settings
def get_rule(settings: Settings, name: str) -> None:
    """Show a rule, as a file that `rewarm rule put -f` takes."""
    answer = settings.api().insist(200, "GET", address("rules", name))
    if settings.for_people:
        echo(as_file(answer["rule"]))
    else:
        settings.emit(answer)


@rule.command("list")
@takes_limit(100)
@takes_settings
def list_rules(settings: Settings, *, limit: int) -> None:
    """List the rules."""
    found = pages(settings.api(), "rules", {}, limit)
    if not settings.for_people:
        settings.emit({"rules": found})
        return
    if not found:
        say("There is no rule yet, so volumes are adopted by hand only: rewarm rule put NAME -f FILE")
        return
    from rewarm_cli.output import console, print_table

    rows = [
        [rule["name"], rule["rule"]["mode"], words.clock(rule["updatedAt"]), _fits(rule["rule"]["match"])]
        for rule in found
    ]
    print_table(console(), ("rule", "mode", "updated", "fits"), rows, whole=("rule",), sentences=("fits",))


def _fits(match: Json) -> str:
    kinds = {"volumeTags": "volumes", "instanceTags": "instances", "snapshotTags": "snapshots"}
    return "; ".join(
        f"{kinds[name]} with {', '.join(f'{key}={value}' for key, value in match[name].items())}"
        for name in kinds
        if match.get(name)
    )


@rule.command("delete")
@NAME
@takes_yes
@takes_settings
def delete_rule(settings: Settings, name: str, *, yes: bool) -> None:
    """Show a rule, ask, and delete it; what it has begun continues."""
    if asks(yes=yes):
        before = settings.api().insist(200, "GET", address("rules", name))
        echo(as_file(before["rule"]), err=True)
        agree(f"Delete the rule {name}, so that it adopts nothing more?", "Nothing was deleted.")
    answer = settings.api().insist(200, "DELETE", address("rules", name))
    if settings.for_people:
        say(f"The rule {name} is deleted")
    else:
        settings.emit(answer)


@rule.command("check")
@NAME
@takes_settings
def check_rule(settings: Settings, name: str) -> None:
    """List what a rule fits in the Region now, whatever its age, with time and price. Nothing is started."""
    api = settings.api()
    answer = api.insist(200, "GET", address("rules", name, "check"))
    for adoption in answer["adoptions"]:
        adoption.update(_planned(api, adoption["request"]))
    if settings.for_people:
        _show(name, answer)
    else:
        settings.emit(answer)


def _planned(api: Api, request: Json) -> Json:
    """The plan of the adoption; where there is none, why."""
    from rewarm_cli.api import ApiRefusedError

    try:
        answer = api.insist(200, "POST", "/plans", request)
    except ApiRefusedError as refusal:
        return {"plan": None, "reason": str(refusal.answer.body.get("message") or refusal)}
    return {"plan": {name: answer["summary"][name] for name in SHOWN}, "reason": None}


def _show(name: str, answer: Json) -> None:
    from rewarm_cli.output import console, print_table

    adoptions = answer["adoptions"]
    passed = answer["passedOver"]
    count = sum(len(adoption["volumeIds"]) for adoption in adoptions)
    usd = sum(
        (Decimal(adoption["plan"]["totalCostUsd"]) for adoption in adoptions if adoption["plan"]), Decimal(0)
    )
    say(f"The rule {name} fits {words.count(count, 'volume')} that can be adopted now, for {words.usd(usd)}.")
    rows = [
        [
            adoption["instanceId"],
            words.count(len(adoption["volumeIds"]), "volume"),
            words.clock(adoption["plan"]["readyP90At"]) if adoption["plan"] else "-",
            words.usd(adoption["plan"]["totalCostUsd"]) if adoption["plan"] else "-",
            adoption["reason"] or ", ".join(adoption["volumeIds"]),
        ]
        for adoption in adoptions
    ]
    if rows:
        columns = ("instance", "adopts", "ready by", "price", "what")
        print_table(console(), columns, rows, right=("price",), sentences=("what",))
    for volume in passed:
        say(f"Not {volume['volumeId']}: {volume['reason']}.")
    say("A rule adopts volumes that are made after it was put; `rewarm warm` adopts older ones.")
