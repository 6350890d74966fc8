"""From an empty account to a database that answers again, by no other commands than the documents show.

PostgreSQL is Debian's, with its data on the volume. Only the instances and their database are made here, as
they are there before anybody thinks of Rewarm. `make deploy` is read as SAM reads it, and deployed by the
embedded AWS. The end of the run shows how long each step took.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local import parts, yaml_text
from local.aws.host import Host
from local.aws.machines.dataplane import SnapshotImage
from local.aws.machines.instances import link_names
from rewarm_cli.main import run
from rewarm_cli.problems import DONE
from tests.support.commands.aws_commands import parameters_of
from tests.support.commands.shown import blocks, in_prose
from tests.support.stack.matrix_summary import LINE
from tests.support.stack.restores import RestoreUser, unique
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.long

README, ALARMS, APPLICATION = (
    ROOT / "README.md",
    ROOT / "docs" / "alarms.md",
    ROOT / "docs" / "application.md",
)
DRILLS = ROOT / "docs" / "drills.md"
POSTGRESQL = ROOT / ".local" / "postgresql"
ALARM, DOCUMENT = "rewarm-orders-instance", "start-postgresql"
PATIENT = ("--set", "verify.maxP99Ms=2000")
"""A busy machine makes some reads slow."""
ORDERS = 1_000
MACHINE = f"""
set -e
mount -t overlay -o lowerdir={POSTGRESQL}/usr:/usr none /usr
mount -t tmpfs -o mode=755 none /srv
cp -a /etc /srv/.etc
cp --remove-destination -L /etc/resolv.conf /srv/.etc/resolv.conf
mount --bind /srv/.etc /etc
mount -t tmpfs -o mode=755 none /run
mount -t tmpfs none /dev/shm
id postgres >/dev/null 2>&1 || useradd --system --no-create-home postgres
install -d -o postgres -g postgres -m 2775 /run/postgresql
"""
"""PostgreSQL is installed; configuration and sockets are the instance's own."""
CLUSTER = """
set -e
cd /
mkfs.ext4 -q "$DEVICE"
mkdir /srv/orders
mount "$DEVICE" /srv/orders
install -d -o postgres -g postgres -m 700 /srv/orders/postgresql
as() { runuser -u postgres -- "$@"; }
bin=/usr/lib/postgresql/15/bin data=/srv/orders/postgresql
as $bin/initdb --no-sync --pgdata=$data >/dev/null
echo "listen_addresses = ''" >>$data/postgresql.conf
sync -f /srv/orders
as $bin/pg_ctl start --wait --pgdata=$data --log=$data/start.log
as createdb orders
as psql --quiet --dbname orders --command "create table orders as select generate_series(1, $ORDERS) as id"
"""
QUERY = "runuser -u postgres -- psql --dbname orders --tuples-only --no-align --command"
COUNT = f"{QUERY} 'select count(*) from orders'"
STOP = "runuser -u postgres -- /usr/lib/postgresql/15/bin/pg_ctl stop --mode=$MODE -D /srv/orders/postgresql"


class Newcomer:
    """Reads the documents, and does what they say."""

    user: RestoreUser

    def __init__(self, account: Host, image: SnapshotImage) -> None:
        self.lab, self.alarm = account, unique(ALARM)
        self._image, self._before = image, account.region.inventory()
        self.failing, self.stand_by = account.region.add_instance(), account.region.add_instance()
        self.volume = account.region.add_volume(size_gib=1, attach_to=self.failing, device="/dev/sdf")
        self.seconds: list[tuple[str, float]] = []
        self._chosen: dict[str, str] = parts.defaults(yaml_text.template())

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Measures one step."""
        began = time.monotonic()
        yield
        self.seconds.append((what, time.monotonic() - began))

    def on(self, instance_id: str, script: str, **environment: str) -> str:
        """What root's script prints on the instance."""
        command: Any = self.lab.machine.run_command(instance_id, script, environment=environment)
        assert command.wait(300) == 0, command.output()
        return str(command.output()[0]).strip()

    def deploy(self, document: Path, *beginning: str) -> None:
        """Runs the `make deploy` that begins so; of an update SAM keeps the parameters that are not named."""
        (arguments,) = self._shown(document, "make", "deploy", *beginning)[2:]
        option, *chosen = arguments.removeprefix("ARGS=").split()
        assert option == "--parameter-overrides"
        self._chosen |= {name: value for name, _, value in (one.partition("=") for one in chosen)}
        self.lab.deploy(self._chosen)
        self.user = RestoreUser(self.lab, self._image, self._before)

    def rewarm(self, document: Path, *beginning: str, more: tuple[str, ...] = ()) -> None:
        """Runs the command of the document that begins so."""
        words = self._shown(document, "rewarm", *beginning)
        assert run([*words[1:], *more]) == DONE, words

    def aws(self, document: Path, *beginning: str) -> dict[str, Any]:
        """The same for a command of the AWS CLI."""
        words = self._shown(document, "aws", *beginning)
        call = getattr(self.lab.client(words[1]), words[2].replace("-", "_"))
        parameters = parameters_of(words[1:])
        if str(parameters.get("Content")).startswith("file://"):
            parameters["Content"] = marked(document, "json", DOCUMENT)
        answer: dict[str, Any] = call(**parameters)
        return answer

    def is_back(self, restore_id: str) -> None:
        """The database of the stand-by answers, and is then taken away."""
        done = self.user.finished(restore_id)
        assert done.main.status == "SUCCEEDED", done.why
        application = done.record["application"]
        assert application["state"] == "back", "; ".join(map(str, application["parts"]))
        assert self.on(self.stand_by, COUNT) == str(ORDERS)
        self.on(self.stand_by, f"{STOP} && umount /srv/orders", MODE="fast")

    def _shown(self, document: Path, *beginning: str) -> list[str]:
        """The one command of the document that begins so, with what a reader fills in."""
        lines = {
            line.partition("  #")[0].strip()
            for shown in (*blocks(), *in_prose())
            if shown.document == document
            for line in shown.text.replace("\\\n", " ").splitlines()
            if line.split()[: len(beginning)] == list(beginning)
        }
        assert len(lines) == 1, f"{document.name} shows {' '.join(beginning)} {len(lines)} times"
        filled = lines.pop()
        places = {
            "https://hooks.slack.com/services/…": self.lab.slack.url,
            "Value=i-…": f"Value={self.failing}",
            "i-…": self.stand_by,
            "vol-…": self.volume,
        }
        for place, value in {**places, ALARM: self.alarm}.items():
            filled = filled.replace(place, value)
        assert "…" not in filled
        return shlex.split(filled)


def marked(document: Path, mark: str, after: str) -> str:
    """The document's first block with this mark after the first place that names this."""
    text = document.read_text(encoding="utf-8")
    return text[text.index(after) :].partition(f"\n```{mark}\n")[2].partition("```\n")[0]


CHECK = marked(APPLICATION, "text", "## PostgreSQL")


@pytest.fixture
def empty_account(host: Host) -> Host:
    """Nothing was ever made in it: tests/conftest.py has this test run first."""
    assert host.client("cloudformation").describe_stacks()["Stacks"] == []
    assert host.client("lambda").list_functions()["Functions"] == []
    assert not any(host.region.inventory().values())
    return host


@pytest.fixture
def newcomer(empty_account: Host, image: SnapshotImage) -> Iterator[Newcomer]:
    """With an instance whose PostgreSQL has its data on a volume, and another one that stands by."""
    assert (POSTGRESQL / "is-whole").exists(), "`make test-long` unpacks PostgreSQL"
    made = Newcomer(empty_account, image)
    for instance_id in (made.failing, made.stand_by):
        made.on(instance_id, MACHINE)
    device = f"/dev/disk/by-id/{link_names(made.volume)[0]}"
    made.on(made.failing, CLUSTER, DEVICE=device, ORDERS=str(ORDERS))
    yield made
    made.user.leave()


def test_an_alarm_a_call_and_a_command_bring_the_database_back_and_a_drill_shows_it(
    newcomer: Newcomer, record_property: Callable[[str, object], None]
) -> None:
    lab, step = newcomer.lab, newcomer.step
    with step("deployed to an empty account"):
        newcomer.deploy(README, 'ARGS="--parameter-overrides')
    user = newcomer.user
    with step("a snapshot"):
        snapshot = newcomer.aws(ALARMS, "ec2", "create-snapshot")["SnapshotId"]
        lab.client("ec2").get_waiter("snapshot_completed").wait(SnapshotIds=[snapshot])
        newcomer.on(newcomer.failing, f"{QUERY} 'insert into orders values (0)'")
    with step("rewarm doctor"):
        newcomer.rewarm(README, "doctor", "--instance")
    with step("check and document"):
        newcomer.on(newcomer.stand_by, CHECK)
        newcomer.aws(APPLICATION, "ssm", "create-document", "--name", DOCUMENT)
    with step("alarm and runbook"):
        newcomer.aws(ALARMS, "cloudwatch", "put-metric-alarm", "--alarm-name", ALARM)
        newcomer.rewarm(APPLICATION, "runbook", "put", ALARM, more=PATIENT)
        newcomer.rewarm(APPLICATION, "runbook", "check", ALARM)
    newcomer.on(newcomer.failing, STOP, MODE="immediate")
    lab.client("ec2").stop_instances(InstanceIds=[newcomer.failing], Force=True)
    with step("from the alarm to the database"):
        before = set(user.executions())
        newcomer.aws(ALARMS, "cloudwatch", "set-alarm-state")
        wait_until(lambda: set(user.executions()) - before)
        (restore_id,) = set(user.executions()) - before
        newcomer.rewarm(ALARMS, "status")
        newcomer.is_back(restore_id)
    with step("the same by POST /restores"):
        newcomer.is_back(user.start({"source": {"alarm": newcomer.alarm}}))
    with step("the same by rewarm restore"):
        before = set(user.executions())
        newcomer.rewarm(APPLICATION, "restore", "--alarm", ALARM, more=("--yes",))
        (restore_id,) = set(user.executions()) - before
        newcomer.is_back(restore_id)
    _is_drilled(newcomer)
    for what, seconds in newcomer.seconds:
        record_property(LINE, f"{seconds:6.1f} s  {what}")


def _is_drilled(newcomer: Newcomer) -> None:
    with newcomer.step("deployed again, with drills"):
        newcomer.deploy(DRILLS)
    user = newcomer.user
    newcomer.rewarm(DRILLS, "runbook", "put", ALARM, more=PATIENT)
    newcomer.stand_by = user.instance()
    newcomer.on(newcomer.stand_by, MACHINE + CHECK)
    with newcomer.step("a drill of it"):
        newcomer.aws(DRILLS, "ec2", "create-tags")
        newcomer.rewarm(DRILLS, "drill", "start", ALARM, more=("--yes",))
        newcomer.rewarm(DRILLS, "drill", "list", ALARM)
    (drill,) = user.call("GET", f"/runbooks/{newcomer.alarm}").body["drills"]
    assert (drill["outcome"], drill["recoveryOf"]) == ("passed", "application"), drill
    assert newcomer.on(newcomer.stand_by, "pgrep -u postgres || true; findmnt /srv/orders || true") == ""
