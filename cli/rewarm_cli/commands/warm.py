"""`rewarm warm`: bring volumes that are in use to full speed where they are."""

from __future__ import annotations

from typing import Any

import click

from rewarm_cli.asking import agree, asks, takes_yes
from rewarm_cli.commands.restores import show_plan_of, start
from rewarm_cli.commands.showing import takes_end
from rewarm_cli.inputs import OneOf, Usd
from rewarm_cli.requests import MAX_COST, READY_WITHIN, STRICT, build, pair, put, takes_key
from rewarm_cli.settings import Settings, examples, takes_settings

IN_PLACE = ("auto", "warm-up-agent", "background")


@click.command(
    epilog=examples(
        "rewarm warm vol-… --watch",
        "rewarm warm --instance i-… --ready-within 2h",
        "rewarm warm --tag Name=orders-data --dry-run --yes",
    )
)
@click.argument("volume_ids", nargs=-1, metavar="[VOL]...")
@click.option("--instance", metavar="I", help="Every volume that is attached to this instance.")
@click.option("--tag", multiple=True, metavar="KEY=VALUE", help="Every attached volume with it.")
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

    Nothing is made, attached, detached or deleted. All volumes of one command are on one instance.
    """
    request = _request(volume_ids, options)
    if options["dry_run"]:
        put(request, "dryRun", value=True)
    elif asks(yes=options["yes"]):
        show_plan_of(settings, settings.api(), request)
        agree("Start this warm-up?", "Nothing was started.")
    start(settings, request, key=options["idempotency_key"] or "", watch=watch, wait=wait, timeout=timeout)


def _request(volume_ids: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    instance, tags = options["instance"], options["tag"]
    if sum(map(bool, (volume_ids, instance, tags))) != 1:
        raise click.UsageError("say which volumes, by their ids, by --instance, or by --tag")
    names = ("ready_within", "max_cost", "approve_above", "strategy", "strict")
    request = build(None, {name: options[name] for name in names}, (), options["sets"])
    existing: dict[str, Any] = {"volumeIds": list(volume_ids)} if volume_ids else {"instanceId": instance}
    if tags:
        existing = {"tags": dict(pair(tag, "--tag") for tag in tags)}
    put(request, "source.existing", existing)
    return request
