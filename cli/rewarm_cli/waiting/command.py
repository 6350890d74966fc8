"""`rewarm wait`: for init containers, systemd units, user data and pipelines."""

from __future__ import annotations

from typing import Any

import click

from rewarm_cli.inputs import Minutes, Volume
from rewarm_cli.settings import Settings, examples, takes_settings

THIS = ""
"""The value of --instance that names none: the instance on which the command runs."""


@click.command(
    epilog=examples(
        "rewarm wait vol-… --timeout 4h", "rewarm wait --device /dev/nvme1n1", "rewarm wait --instance i-…"
    )
)
@click.argument("volume_ids", nargs=-1, type=Volume(), metavar="[VOL]...")
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="PATH",
    help="The volumes behind a device of this machine, or behind a folder's file system; several.",
)
@click.option(
    "--instance",
    is_flag=False,
    flag_value=THIS,
    metavar="[I]",
    help="Every volume that is attached to this instance; without an id, to the one that this runs on.",
)
@click.option("--timeout", type=Minutes(), metavar="TIME", help="Wait no longer than this.")
@takes_settings
def wait(
    settings: Settings,
    volume_ids: tuple[str, ...],
    *,
    devices: tuple[str, ...],
    instance: str | None,
    timeout: int | None,
) -> None:
    """Wait until volumes are proven to be at full speed, by whichever restore or warm-up.

    It only looks, and starts nothing. Where nothing warms a volume yet, it waits for that, too. It ends with
    0 once all are proven, and with 3 as soon as one has failed.
    """
    from rewarm_cli.waiting.named import behind, on_instance
    from rewarm_cli.waiting.watch import end, watched

    if not volume_ids and not devices and instance is None:
        raise click.UsageError("say which volumes, by their ids, by --device, or by --instance")
    found: dict[str, Any] = dict.fromkeys(volume_ids)
    for device in devices:
        found |= dict.fromkeys(behind(device))
    if instance is not None:
        found |= dict.fromkeys(on_instance(settings, instance or None))
    end(settings, watched(settings, settings.api(), list(found), minutes=timeout), minutes=timeout)
