"""What only the instance itself knows: runs a command of Systems Manager that only reads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from rewarm_cli import words
from rewarm_cli.doctor.account import Account, NoAnswerError
from rewarm_cli.doctor.findings import Finding, ok, problem, unknown, warning
from rewarm_cli.doctor.reach import instance as instances
from rewarm_cli.output import say

Json = dict[str, Any]

CHECKS = ("S3", "programs", "agent's folder", "space", "EBS volumes")
LINUX_HOME, WINDOWS_HOME = "/var/lib/rewarm", r"%ProgramFiles%\Rewarm"
"""Where documents/start.sh and start.ps1 keep the agent."""
NEEDED_KIB = 20 * 1024
"""The agent, a list of blocks and its state take some MiB."""
DOCUMENTS = {False: "AWS-RunShellScript", True: "AWS-RunPowerShellScript"}
LINUX = r"""
for program in curl sha256sum; do
  command -v "$program" >/dev/null 2>&1 || echo "missing=$program"
done
folder=/var/lib/rewarm
[ -d "$folder" ] || folder=/var/lib
mount=$(df -Pk "$folder" | awk 'NR == 2 {print $6}')
echo "mount=$mount"
df -Pk "$folder" | awk 'NR == 2 {print "kib=" $4}'
awk -v mount="$mount" '$2 == mount {options = $4} END {print "options=" options}' /proc/mounts
echo "devices=$(find /dev/disk/by-id -name 'nvme-Amazon_Elastic_Block_Store_vol*' 2>/dev/null | sed 's/.*_vol//; s/[^0-9a-f].*//' | sort -u | wc -l)"
echo "s3=$(curl --silent --output /dev/null --write-out '%{http_code}' --connect-timeout 10 --max-time 15 URL)"
exit 0
"""  # noqa: E501  # a line of a shell script
WINDOWS = r"""
$ErrorActionPreference = 'SilentlyContinue'
$ProgressPreference = 'SilentlyContinue'
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor
  [Net.SecurityProtocolType]::Tls12
$drive = Get-PSDrive -Name $env:ProgramFiles.Substring(0, 1)
"kib=$([int64]($drive.Free / 1024))"
"devices=$(@(Get-Disk | Where-Object { $_.SerialNumber -like 'vol*' }).Count)"
$code = 0
try {
  $answer = Invoke-WebRequest -UseBasicParsing -Method Head -Uri 'URL' -TimeoutSec 15 -ErrorAction Stop
  $code = [int]$answer.StatusCode
} catch {
  if ($_.Exception.Response) { $code = [int]$_.Exception.Response.StatusCode }
}
"s3=$code"
exit 0
"""
PAUSE_SECONDS = 1.0
MOST_POLLS = 90
DELIVERY_SECONDS = 30
"""botocore SendCommandRequest: TimeoutSeconds, of the delivery, from 30."""
ENDED = {"Success", "Failed", "TimedOut", "Cancelled"}


def look(account: Account) -> Iterator[Finding]:
    """What the command finds; without --on-instance, what it would check."""
    instance = instances.described(account)
    if instance is None:
        return
    if not account.wanted.on_instance:
        for check in CHECKS:
            yield unknown(check, "only the instance knows", "run with --on-instance")
        return
    bucket = account.stack.outputs.get("ArtifactsBucket")
    if bucket is None:
        yield unknown(
            "command", "Rewarm's bucket is not known, for want of the stack", "find the stack first"
        )
        return
    is_windows = instances.is_windows(instance)
    host = f"{bucket}.s3.{account.region}.{account.domain}"
    status, output, said = _run(account, script(host, is_windows=is_windows), is_windows=is_windows)
    if status != "Success":
        yield unknown("command", f"it is {status}: {said}", "see it in Systems Manager, Run Command")
        return
    lines = [line.partition("=") for line in output.splitlines() if "=" in line]
    facts = {name: value.strip() for name, _, value in lines}
    yield _s3(facts.get("s3", ""), host)
    if not is_windows:
        yield _programs([value for name, _, value in lines if name == "missing"])
        yield _folder(facts)
    yield _space(facts.get("kib", ""), WINDOWS_HOME if is_windows else LINUX_HOME)
    yield _volumes(facts.get("devices", ""))


def script(host: str, *, is_windows: bool) -> str:
    """The script for the instance; it writes nothing."""
    return (WINDOWS if is_windows else LINUX).strip().replace("URL", f"https://{host}/") + "\n"


def _run(account: Account, text: str, *, is_windows: bool) -> tuple[str, str, str]:
    """Send the command, and wait for its end: status, output, and what went wrong."""
    instance_id = account.wanted.instance
    document = DOCUMENTS[is_windows]
    say(
        f"Running a command on {instance_id} through Systems Manager ({document}). It writes no file.",
        err=True,
    )
    sent = account.ask(
        "ssm",
        "SendCommand",
        InstanceIds=[instance_id],
        DocumentName=document,
        Comment="rewarm doctor: reads only",
        TimeoutSeconds=DELIVERY_SECONDS,
        Parameters={"commands": text.splitlines(), "executionTimeout": ["60"]},
    )
    command_id = sent["Command"]["CommandId"]
    for _ in range(MOST_POLLS):
        time.sleep(PAUSE_SECONDS)
        try:
            answer = account.ask("ssm", "GetCommandInvocation", CommandId=command_id, InstanceId=instance_id)
        except NoAnswerError as error:
            # This is normal so soon after SendCommand.
            if error.code == "InvocationDoesNotExist":
                continue
            raise
        if answer["Status"] in ENDED:
            said = answer.get("StandardErrorContent", "").strip() or answer.get("StatusDetails", "no reason")
            return answer["Status"], answer.get("StandardOutputContent", ""), said
    return "unfinished", "", f"{command_id} still runs"


def _s3(code: str, host: str) -> Finding:
    """Any HTTP status is an answer; curl writes 000 without one."""
    if code.strip("0").isdigit():
        return ok("S3", f"{host} answers {code}")
    return problem("S3", f"{host} does not answer", "see the network above, and the instance's DNS and proxy")


def _programs(missing: list[str]) -> Finding:
    if missing:
        return problem("programs", f"missing: {', '.join(missing)}", "install them on the instance")
    return ok("programs", "curl and sha256sum are there")


def _folder(facts: Mapping[str, str]) -> Finding:
    mount = facts.get("mount", "?")
    options = facts.get("options", "").split(",")
    found = f"{LINUX_HOME} is on {mount}"
    if "noexec" in options:
        todo = f"mount {mount} without noexec: the agent runs from there"
        return problem("agent's folder", f"{found}, which is mounted noexec", todo)
    if "ro" in options:
        todo = f"mount {mount} for writing: the agent is kept there"
        return problem("agent's folder", f"{found}, which is mounted read-only", todo)
    return ok("agent's folder", f"{found}, where programs may run")


def _space(kib: str, home: str) -> Finding:
    if not kib.isdigit():
        return unknown(
            "space", f"the instance did not tell how much is free for {home}", "look at it by hand"
        )
    found = f"{words.size(int(kib) * 1024)} free for {home}"
    if int(kib) < NEEDED_KIB:
        return problem("space", found, f"free {words.size(NEEDED_KIB * 1024)} at least")
    return ok("space", found)


def _volumes(count: str) -> Finding:
    if count.isdigit() and int(count):
        return ok("EBS volumes", f"{words.count(int(count), 'volume')} can be found by id")
    found = "no EBS volume can be found by its id"
    return warning("EBS volumes", found, "see NVMe above, and the links in /dev/disk/by-id on the instance")
