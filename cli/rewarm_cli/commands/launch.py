"""`rewarm launch`: a new, stopped instance, for a restore of a whole instance."""

from __future__ import annotations

import uuid
from typing import Any

import click

from rewarm_cli import words
from rewarm_cli.asking import agree, asks, takes_yes
from rewarm_cli.output import say
from rewarm_cli.problems import CommandFailedError
from rewarm_cli.settings import Settings, examples, takes_settings


@click.command(
    epilog=examples(
        "rewarm launch --like i-… --dry-run",
        "rewarm launch --template lt-…:3 --subnet subnet-…",
        "rewarm launch --like i-… --query instanceId",
    )
)
@click.option("--like", metavar="I", help="Take the settings of this instance, in any state but terminated.")
@click.option("--template", metavar="LT[:VERSION]", help="Take those of this launch template, by id or name.")
@click.option("--image", metavar="AMI", help="Another image for the first boot, of the same architecture.")
@click.option("--instance-type", metavar="TYPE", help="Another instance type.")
@click.option("--subnet", metavar="SUBNET", help="Another subnet, and so another zone.")
@click.option("--security-group", "security_groups", multiple=True, metavar="SG", help="Other groups.")
@click.option("--dry-run", is_flag=True, help="Print what RunInstances would get, and launch nothing.")
@takes_yes
@takes_settings
def launch(settings: Settings, *, dry_run: bool, yes: bool, **options: Any) -> None:
    """Ask, launch an instance and stop it, so that a restore gives it all its volumes and starts it.

    It uses your own permissions, not the stack's. The image boots for some seconds, without user data. If
    anything fails, or with Ctrl-C, the instance is terminated.
    """
    if (options["like"] is None) == (options["template"] is None):
        raise click.UsageError("one of --like and --template is needed")
    asked = not dry_run and asks(yes=yes)
    from botocore.exceptions import BotoCoreError, ClientError

    from rewarm_cli import launching
    from rewarm_cli.account import StackUnreachableError

    try:
        ec2 = _ec2(settings)
        planned = launching.plan(ec2, launching.Wanted(**options))
        if dry_run:
            settings.emit(planned.request)
            return
        if asked:
            source = options["like"] or options["template"]
            agree(f"Launch {_words(planned.request)} with the settings of {source}?", "Nothing was launched.")
        made = launching.launch(ec2, planned, uuid.uuid4().hex, lambda text: say(text, err=True))
    except (StackUnreachableError, launching.NotLaunchedError, BotoCoreError, ClientError) as error:
        raise CommandFailedError(str(error)) from error
    _show(settings, made, options["like"], planned.left_out)


def _words(request: dict[str, Any]) -> str:
    kind = request.get("InstanceType")
    subnet = request.get("SubnetId")
    return f"{kind or 'an instance'} of {request['ImageId']}" + (f" in {subnet}" if subnet else "")


def _ec2(settings: Settings) -> Any:
    from rewarm_cli.account import session_of

    session, region, _ = session_of(settings.profile, settings.region)
    return session.create_client("ec2", region_name=region)


def _show(settings: Settings, made: dict[str, Any], like: str | None, left_out: list[str]) -> None:
    volumes = [mapping["Ebs"]["VolumeId"] for mapping in made.get("BlockDeviceMappings", [])]
    answer = {"instanceId": made["InstanceId"], "imageVolumes": volumes, "leftOut": left_out}
    if not settings.for_people:
        settings.emit(answer)
        return
    to = ("--source-instance", like or "INSTANCE", "--instance", made["InstanceId"])
    say(f"{made['InstanceId']} is stopped. It did not get: {', '.join(left_out) or 'nothing is missing'}.")
    say(f"  {words.command('restore', *to, '--start', '--watch')}")
    say(f"Once that is ready, delete {', '.join(volumes)}: it is of the image, and has none of your data.")
