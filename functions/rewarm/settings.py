"""The settings in the environment of the functions (template.yaml, Globals), read when first needed."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rewarm.domain.value import Value
from rewarm.domain.volume.holds import ConcurrencyLimits
from rewarm.domain.volume.performance import ModificationRule
from rewarm.ports.instances import APPLY

if TYPE_CHECKING:
    from rewarm.domain.parts import Parts


_AGENTS = Path(__file__).with_name("agents.json")
"""`{"linux-x86_64": SHA-256}`, which the build puts into the package (local/agents.py)."""


class MissingSettingError(RuntimeError):
    """An environment variable that template.yaml sets is not there."""


def _environment() -> Mapping[str, str]:
    return os.environ


class Settings(Value):
    """The environment by name, read only when asked for: a function may lack what it never uses."""

    environment: Mapping[str, str] = field(default_factory=_environment)

    @property
    def stack_name(self) -> str:
        """Name of the CloudFormation stack; the value of the tag `rewarm:stack`."""
        return self._required("STACK_NAME")

    @property
    def region(self) -> str:
        """The Region of the function."""
        return self.environment.get("AWS_REGION") or self._required("AWS_DEFAULT_REGION")

    @property
    def parts(self) -> Parts:
        """The parts that the stack was deployed with."""
        from rewarm.domain.parts import Parts  # noqa: PLC0415 - few functions ask

        chosen = (part.partition("=") for part in self._required("PARTS").split())
        return Parts(frozenset(name for name, _, is_there in chosen if is_there == "yes"))

    @property
    def restores_table(self) -> str:
        """DynamoDB table of restores, runbooks and rules."""
        return self._required("RESTORES_TABLE")

    @property
    def idempotency_table(self) -> str:
        """DynamoDB table of Powertools Idempotency."""
        return self._required("IDEMPOTENCY_TABLE")

    @property
    def artifacts_bucket(self) -> str:
        """Bucket of agent binaries, block maps, progress and reports."""
        return self._required("ARTIFACTS_BUCKET")

    @property
    def warmer_documents(self) -> dict[str, str]:
        """Names of the SSM documents by the instance's platform, and of the one that writes."""
        writes = self.environment.get("APPLY_DOCUMENT")
        return {
            "linux": self._required("WARMER_DOCUMENT"),
            "windows": self._required("WARMER_WINDOWS_DOCUMENT"),
            **({APPLY: writes} if writes else {}),
        }

    @property
    def benchmark_documents(self) -> dict[str, str]:
        """Names of the SSM documents for benchmarks by the instance's platform; only the API has them."""
        return {
            "linux": self._required("BENCHMARK_DOCUMENT"),
            "windows": self._required("BENCHMARK_WINDOWS_DOCUMENT"),
        }

    @property
    def device_use_documents(self) -> dict[str, str]:
        """Names of the SSM documents that look at a device; only functions that detach volumes have them."""
        return {
            "linux": self._required("DEVICE_USE_DOCUMENT"),
            "windows": self._required("DEVICE_USE_WINDOWS_DOCUMENT"),
        }

    @property
    def hook_document(self) -> str:
        """Name of the SSM document that mounts and checks; only Run Hook has it."""
        return self._required("HOOK_DOCUMENT")

    @property
    def restore_state_machine_arn(self) -> str:
        """The state machine `restore`; only functions that start restores, or check for them, have it."""
        return self._required("RESTORE_STATE_MACHINE_ARN")

    @property
    def restore_volume_state_machine_arn(self) -> str:
        """The state machine `restore-volume`; only functions that ask how one ended have it."""
        return self._required("RESTORE_VOLUME_STATE_MACHINE_ARN")

    @property
    def change_performance_state_machine_arn(self) -> str:
        """The state machine `change-performance`; empty for functions that start none."""
        return self.environment.get("CHANGE_PERFORMANCE_STATE_MACHINE_ARN", "")

    @property
    def fleet_state_machine_arn(self) -> str:
        """The state machine `fleet`; empty for functions that start none."""
        return self.environment.get("FLEET_STATE_MACHINE_ARN", "")

    @property
    def modification_rule(self) -> ModificationRule:
        """How often EC2 lets a volume be modified in this partition."""
        return ModificationRule(self.environment.get("MODIFICATION_RULE") or ModificationRule.FOUR_IN_24_H)

    @property
    def undo_log_days(self) -> int:
        """After so many days S3 deletes an undo log; only functions that name or list logs have it."""
        return int(self._required("UNDO_LOG_DAYS"))

    @property
    def limits(self) -> ConcurrencyLimits:
        """How many restores may run at once."""
        return ConcurrencyLimits(
            per_instance=int(self._required("MAX_RESTORES_PER_INSTANCE")),
            in_stack=int(self._required("MAX_RESTORES_IN_FLIGHT")),
        )

    @property
    def describe_calls_per_second(self) -> int:
        """How many of EC2's describe calls restores may make, all together."""
        return int(self._required("DESCRIBE_CALLS_PER_SECOND"))

    @property
    def alarm_name_prefix(self) -> str:
        """Alarms whose names begin so start restores; only the API's function has it."""
        return self._required("ALARM_NAME_PREFIX")

    @property
    def alarm_accounts(self) -> Collection[str]:
        """Accounts whose alarms start restores; only the function of Parse Request has them."""
        return self._required("ALARM_ACCOUNTS").split(",")

    @property
    def alarm_cooldown(self) -> timedelta:
        """How long after a restore its alarm starts no other; a runbook may say otherwise."""
        return timedelta(minutes=int(self._required("ALARM_COOLDOWN_MINUTES")))

    @property
    def notification_topic_arn(self) -> str | None:
        """SNS topic of plain messages; None if there is none."""
        return self.environment.get("NOTIFICATION_TOPIC_ARN") or None

    @property
    def chat_topic_arn(self) -> str | None:
        """SNS topic of messages for Amazon Q Developer in chat applications; None if there is none."""
        return self.environment.get("CHAT_TOPIC_ARN") or None

    @property
    def slack_webhook_secret_arn(self) -> str | None:
        """Secrets Manager secret with the webhook's address; None if there is none."""
        return self.environment.get("SLACK_WEBHOOK_SECRET_ARN") or None

    @property
    def slack_bot_secret_arn(self) -> str | None:
        """Secrets Manager secret with the token of Slack's bot; None if there is none."""
        return self.environment.get("SLACK_BOT_SECRET_ARN") or None

    @property
    def slack_channel(self) -> str | None:
        """The channel in which the bot posts; None if there is none."""
        return self.environment.get("SLACK_CHANNEL") or None

    @property
    def slack_buttons(self) -> bool:
        """Whether clicks can be checked, so that messages have buttons."""
        return bool(self.environment.get("SLACK_BUTTONS"))

    @property
    def slack_signing_secret_arn(self) -> str | None:
        """Secrets Manager secret by which Slack signs clicks; None if there is none."""
        return self.environment.get("SLACK_SIGNING_SECRET_ARN") or None

    @property
    def slack_team_id(self) -> str | None:
        """The workspace whose clicks count; None for every workspace with the app."""
        return self.environment.get("SLACK_TEAM_ID") or None

    @property
    def slack_approvers(self) -> list[str]:
        """Users whose clicks count; empty for everybody who sees the message."""
        return [
            user.strip() for user in self.environment.get("SLACK_APPROVERS", "").split(",") if user.strip()
        ]

    @property
    def pages_url(self) -> str:
        """The API without signatures, which opens pages of restores; empty for functions that link none."""
        return self.environment.get("PAGES_URL", "")

    @property
    def event_bus_name(self) -> str:
        """EventBridge bus of Rewarm's own events."""
        return self.environment.get("EVENT_BUS_NAME") or "default"

    @property
    def price_overrides(self) -> str:
        """The user's own prices as JSON; empty for none."""
        return self.environment.get("PRICE_OVERRIDES", "").strip()

    @property
    def agents(self) -> Mapping[str, str]:
        """SHA-256 of the agent for each `platform-architecture`: what the build was made with.

        The SSM documents of the stack allow these and no other. A package that no build made has none.
        """
        if not _AGENTS.is_file():
            return {}
        found: dict[str, str] = json.loads(_AGENTS.read_text(encoding="utf-8"))
        return found

    @property
    def agent_directory(self) -> str:
        """Folder of the agent's binaries: where Lambda unpacks layers."""
        return self.environment.get("AGENT_DIRECTORY") or "/opt"

    def _required(self, name: str) -> str:
        value = self.environment.get(name)
        if not value:
            raise MissingSettingError(f"the environment variable {name} is not set")
        return value
