"""`rewarm calibrate`: what the user sees, answers, and can stop."""

from __future__ import annotations

import contextlib
import json
import signal
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.asking import agree, agrees, asks, takes_yes
from rewarm_cli.inputs import OneOf, Usd, Whole
from rewarm_cli.output import say
from rewarm_cli.problems import FAILED, STOPPED, CommandFailedError
from rewarm_cli.settings import Settings, examples, takes_settings
from rewarm_cli.words import duration

if TYPE_CHECKING:
    from rewarm_cli.api import Api
    from rewarm_cli.calibrate.cloud import Clients, Cloud, Leftover, Where
    from rewarm_cli.calibrate.measuring import Measured
    from rewarm_cli.calibrate.ways import Way

Json = dict[str, Any]

WAYS = ("volume", "rate", "fsr")
DEFAULT_GIB, MOST_GIB = 8, 64


@click.command(
    epilog=examples(
        "rewarm calibrate --instance i-…",
        "rewarm calibrate --instance i-… --max-cost-usd 0.10 --yes --save calibration.json",
        "rewarm calibrate --clean-up",
    )
)
@click.option("--instance", metavar="I", help="A Linux instance that attaches and reads the volumes.")
@click.option(
    "--max-cost-usd",
    type=Usd(),
    default="1.00",
    show_default=True,
    metavar="USD",
    help="What does not fit is left out.",
)
@click.option("--ways", multiple=True, type=OneOf(WAYS), help="Only these; several. Default: all that fit.")
@click.option(
    "--size-gib",
    type=Whole(1, MOST_GIB),
    default=DEFAULT_GIB,
    show_default=True,
    help="Size of the volume that is made.",
)
@takes_yes
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.json",
    help="Also write the findings to a file, without ids or account.",
)
@click.option("--clean-up", is_flag=True, help="Only remove what earlier calibrations have left.")
@takes_settings
def calibrate(settings: Settings, **given: Any) -> None:
    """Measure in your account what AWS does not document, and let estimates use it.

    Makes a small volume, a snapshot and volumes of it with your own credentials. Says before what that costs
    at most, and removes all of it. docs/calibration.md has the details.
    """
    from rewarm_cli.calibrate.cloud import leftovers

    given["asked"] = asks(yes=given["yes"])
    api = settings.api()
    known = api.insist(200, "GET", "/calibration")
    clients, document = _account(settings, api.region)
    if old := leftovers(clients, known["stack"]):
        _offer(clients, old, known["leases"], asked=given["asked"], wanted=given["clean_up"])
    if given["clean_up"]:
        return
    if given["instance"] is None:
        raise click.UsageError("Missing option '--instance'.")
    if document is None:
        raise CommandFailedError(
            f"the stack {settings.stack} was deployed without calibration; deploy it with Calibration=yes"
        )
    where = _where(clients, given["instance"], api.region, known["stack"], document)
    ways = _agreed_ways(known, where, given)
    found = _measure(api, clients, where, given["size_gib"], ways)
    if given["save"] is not None:
        given["save"].write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    api.insist(200, "PUT", "/calibration", found)
    _show(settings, found, given["save"])


def _account(settings: Settings, region: str) -> tuple[Clients, str | None]:
    """Clients that sign as the AWS CLI would, and the stack's SSM document, if it has one."""
    import botocore.session

    from rewarm_cli.account import StackUnreachableError, outputs_of
    from rewarm_cli.calibrate.cloud import Clients

    session = botocore.session.Session(profile=settings.profile)
    near = {name: session.create_client(name, region_name=region) for name in ("ec2", "ssm", "cloudwatch")}
    # The price list answers only in a few Regions (botocore's endpoints of `pricing`).
    try:
        outputs = outputs_of(session, settings.stack, region)
    except StackUnreachableError as error:
        raise CommandFailedError(str(error)) from error
    return Clients(**near, pricing=session.create_client("pricing", region_name="us-east-1")), outputs.get(
        "CalibrationDocumentName"
    )


def _where(clients: Clients, instance_id: str, region: str, stack: str, document: str) -> Where:
    from botocore.exceptions import ClientError

    from rewarm_cli.calibrate.cloud import Where

    try:
        found = clients.ec2.describe_instances(InstanceIds=[instance_id])["Reservations"][0]["Instances"][0]
    except ClientError as error:
        raise CommandFailedError(f"{instance_id}: {error}") from error
    if found.get("Platform") == "windows":
        raise CommandFailedError(f"{instance_id} runs Windows; a calibration needs Linux, with GNU dd")
    zone = found["Placement"]["AvailabilityZone"]
    return Where(instance_id, found["InstanceType"], zone, region, stack, document)


# ----------------------------------------------------------------------------------------- before it begins
def _offer(
    clients: Clients, old: Sequence[Leftover], leases: list[Json], *, asked: bool, wanted: bool
) -> None:
    """Removes what earlier calibrations have left, unless one may be running. What no lease names may be
    anybody's: it is only shown.
    """
    from rewarm_cli.calibrate.cloud import clock_of, remove

    clock = clock_of(clients)
    now = datetime.fromtimestamp(clock.now(), UTC)
    ended = [lease for lease in leases if datetime.fromisoformat(lease["expiresAt"]) <= now or wanted]
    over = [leftover for leftover in old if leftover.is_of(ended)]
    for leftover in old:
        say(f"{leftover.name} of {leftover.calibration} {_state(leftover, over, leases)}", err=True)
    if over and (not asked or agrees("Remove what is left?")):
        volumes = [leftover.name for leftover in over if leftover.name.startswith("vol-")]
        snapshots = [leftover.name for leftover in over if leftover.name.startswith("snap-")]
        left = remove(clients, clock, volumes, snapshots, _say)
        if left:
            raise CommandFailedError(f"could not remove {', '.join(left)}", FAILED)


def _state(one: Leftover, over: Sequence[Leftover], leases: list[Json]) -> str:
    if one in over:
        return "is left"
    if one.is_of(leases):
        until = next(lease["expiresAt"] for lease in leases if one.is_of([lease]))
        return f"is in use, or left until {until}"
    kind = "volume" if one.name.startswith("vol-") else "snapshot"
    made = f"{one.made_at:%Y-%m-%dT%H:%M:%SZ}"
    return (
        f"has such tags, and no lease names it: it may be somebody else's (made at {made}); if nobody needs "
        f"it: {words.aws('ec2', f'delete-{kind}', f'--{kind}-id', one.name)}"
    )


def _agreed_ways(known: Json, where: Where, given: Json) -> list[str]:
    """Shows what will be done, for how long and at what cost at most, and asks."""
    from rewarm_cli.calibrate.ways import Prices, considered

    prices = Prices(*(Decimal(known[name]) for name in _PRICES))
    ways = considered(given["size_gib"], prices, given["max_cost_usd"], given["ways"] or WAYS)
    done = [way for way in ways if way.is_done]
    for way in ways:
        _say(_line(way))
    if not done or done[0].name != "volume":
        raise CommandFailedError("nothing fits into --max-cost-usd; the first way is needed for the others")
    usd = sum(way.usd for way in done)
    minutes = sum(way.minutes for way in done)
    _say(f"On {where.instance_id} in {where.zone}: some {duration(60 * minutes)}, at most {usd:.3f} USD")
    _say("(with 35 minutes more if this program is killed and the sweeper has to end it)")
    if given["asked"]:
        agree("Begin this calibration?", "Nothing was made.")
    return [way.name for way in done]


_PRICES = ("fsrUsdPerHour", "rateUsdPerGibMibS", "storageUsdPerGibMonth")


def _line(way: Way) -> str:
    if way.is_done:
        return f"{way.name}: {way.says}; {duration(60 * way.minutes)}, {way.usd:.3f} USD"
    return f"{way.name}: left out: {way.reason}"


# -------------------------------------------------------------------------------------------- the measuring
def _measure(api: Api, clients: Clients, where: Where, size_gib: int, ways: Sequence[str]) -> Json:
    """The findings; what was made is removed, however this ends."""
    from rewarm_cli.calibrate.cloud import Cloud, clock_of
    from rewarm_cli.calibrate.findings import document

    clock = clock_of(clients)
    name = f"calibration-{uuid.uuid4().hex[:16]}"

    def keep(volumes: list[str], snapshots: list[str]) -> Json:
        body = {"volumeIds": volumes, "snapshotIds": snapshots}
        kept: Json = api.insist(200, "PUT", address("calibrations", name), body)
        return kept

    cloud = Cloud(clients, clock, where, name, keep)
    cloud.tell()
    _say(f"{cloud.calibration} begins")
    measured = _measured(cloud, size_gib, ways)
    if (usage_type := _usage_type(clients, where.region)) is not None:
        measured.answers["initializationUsageType"] = usage_type
    return document(measured, where, size_gib, clock.now())


def _measured(cloud: Cloud, size_gib: int, ways: Sequence[str]) -> Measured:
    from botocore.exceptions import BotoCoreError, ClientError

    from rewarm_cli.calibrate.cloud import CalibrationError
    from rewarm_cli.calibrate.measuring import Measuring

    with _stopped_by_a_signal():
        try:
            return Measuring(cloud, size_gib, ways, _say).run()
        except KeyboardInterrupt:
            _say("stopping")
            raise click.exceptions.Exit(STOPPED) from None
        except (CalibrationError, BotoCoreError, ClientError) as error:
            raise CommandFailedError(f"the calibration failed: {error}") from error
        finally:
            _remove(cloud)


@contextlib.contextmanager
def _stopped_by_a_signal() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP end it like Ctrl-C."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signals = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, stop) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _remove(cloud: Cloud) -> None:
    """Removes what was made; if a second signal ends even this, the sweeper does it."""
    try:
        left = cloud.remove_all(_say)
    except BaseException as error:
        _say(f"could not remove all ({type(error).__name__}): the sweeper ends it within 35 minutes")
        raise
    for name in left:
        _say(f"could not remove {name}: the sweeper ends it within 35 minutes")


def _usage_type(clients: Clients, region: str) -> str | None:
    """The price list's usage type of a provisioned initialization rate; None if it has no such row."""
    from botocore.exceptions import BotoCoreError, ClientError

    filters = [
        {"Type": "TERM_MATCH", "Field": "regionCode", "Value": region},
        {"Type": "CONTAINS", "Field": "usagetype", "Value": "Initialization"},
    ]
    try:
        rows = clients.pricing.get_products(ServiceCode="AmazonEC2", Filters=filters)["PriceList"]
    except (BotoCoreError, ClientError) as error:
        _say(f"the price list could not be read: {error}")
        return None
    names = [json.loads(row)["product"]["attributes"].get("usagetype") for row in rows]
    return next((str(name) for name in names if name), None)


# --------------------------------------------------------------------------------------------- the findings
def _show(settings: Settings, found: Json, saved: Path | None) -> None:
    from rewarm_cli.calibrate.findings import COLUMNS, NOT_MEASURED, rows

    if not settings.for_people:
        settings.emit(found)
        return
    from rewarm_cli.output import console, print_table

    print_table(console(), COLUMNS, [*rows(found)], sentences=("what", "consequence"))
    say(NOT_MEASURED)
    say("Estimates use it from now on, and plans say so. Correct it by another calibration.")
    if saved is not None:
        say(f"{saved} names no account and no id: docs/calibrations takes such files.")


def _say(text: str) -> None:
    say(text, err=True)
