"""`rewarm warm`: bring volumes that are in use to full speed where they are."""

from __future__ import annotations

from typing import Any

import click

from rewarm_cli.asking import agree, asks, takes_yes
from rewarm_cli.commands.restores import show_plan_of, start_each
from rewarm_cli.commands.showing import takes_end
from rewarm_cli.inputs import Minutes, OneOf, Usd
from rewarm_cli.requests import MAX_COST, READY_WITHIN, STRICT, build, pair, put, takes_key
from rewarm_cli.settings import Settings, examples, takes_settings

IN_PLACE = ("auto", "warm-up-agent", "background", "boosted-warm-up")


@click.command(
    epilog=examples(
        "rewarm warm vol-… --watch",
        "rewarm warm --instance i-… --instance i-… --ready-within 2h",
        "rewarm warm vol-… --wait-for-attachment 30m --yes",
        "rewarm warm vol-… --boost --ready-within 1h",
        "rewarm warm --tag Name=orders-data --dry-run --yes",
    )
)
@click.argument("volume_ids", nargs=-1, metavar="[VOL]...")
@click.option(
    "--instance",
    "instances",
    multiple=True,
    metavar="I",
    help="Every volume that is attached to this instance; repeated, it makes one warm-up for each instance.",
)
@click.option("--tag", multiple=True, metavar="KEY=VALUE", help="Every attached volume with it.")
@click.option(
    "--wait-for-attachment",
    type=Minutes(),
    metavar="TIME",
    help="So long volumes may be attached, and their instance come online: minutes, or 2h, 1d.",
)
@click.option(
    "--boost",
    is_flag=True,
    help="Volumes with the tag rewarm:managed=true may get more IOPS and throughput meanwhile, by the hour.",
)
@READY_WITHIN
@MAX_COST
@click.option("--approve-above", type=Usd(), metavar="USD", help="Wait for approval where it costs more.")
@click.option(
    "--strategy",
    type=OneOf(IN_PLACE),
    metavar="NAME",
    help="Default: auto, which reads nothing of a volume that is warm; warm-up-agent reads it even so.",
)
@STRICT
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Any field of a request, such as warmUp.politeLatencyMs=5; several.",
)
@takes_end
@takes_yes
@click.option("--dry-run", is_flag=True, help="End after the plan and its message; nothing is read.")
@takes_key("warm-up")
@takes_settings
def warm(
    settings: Settings,
    volume_ids: tuple[str, ...],
    *,
    watch: bool,
    wait: bool,
    timeout: int | None,
    **options: Any,
) -> None:
    """Bring volumes that are attached and in use to full speed.

    Nothing is made, attached, detached or deleted. Volumes that are named by ids or tags are on one instance.
    """
    requests = [_request(existing, options) for existing in _named(volume_ids, options)]
    if not options["dry_run"] and asks(yes=options["yes"]):
        for request in requests:
            show_plan_of(settings, settings.api(), request)
        what = "this warm-up" if len(requests) == 1 else f"these {len(requests)} warm-ups"
        agree(f"Start {what}?", "Nothing was started.")
    key = options["idempotency_key"] or ""
    start_each(settings, requests, key=key, watch=watch, wait=wait, timeout=timeout)


def _named(volume_ids: tuple[str, ...], options: dict[str, Any]) -> list[dict[str, Any]]:
    """Which volumes, for each warm-up."""
    instances = dict.fromkeys(options["instances"])
    tags = options["tag"]
    if sum(map(bool, (volume_ids, instances, tags))) != 1:
        raise click.UsageError("say which volumes, by their ids, by --instance, or by --tag")
    if volume_ids:
        return [{"volumeIds": list(volume_ids)}]
    if tags:
        return [{"tags": dict(pair(tag, "--tag") for tag in tags)}]
    return [{"instanceId": instance} for instance in instances]


def _request(existing: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    names = ("ready_within", "max_cost", "approve_above", "strategy", "strict")
    request = build(None, {name: options[name] for name in names}, (), options["sets"])
    wanted = {"waitForAttachmentMinutes": options["wait_for_attachment"], "boost": options["boost"]}
    put(
        request,
        "source.existing",
        existing | {name: value for name, value in wanted.items() if value},
    )
    if options["dry_run"]:
        put(request, "dryRun", value=True)
    return request
