"""The environment by name."""

from __future__ import annotations

import pytest

from rewarm.settings import MissingSettingError, Settings


def test_a_setting_is_read_when_it_is_asked_for() -> None:
    environment = {"STACK_NAME": "rewarm"}
    settings = Settings(environment)
    assert settings.stack_name == "rewarm"
    with pytest.raises(MissingSettingError, match="RESTORES_TABLE"):
        _ = settings.restores_table
    environment["RESTORES_TABLE"] = "restores"
    assert settings.restores_table == "restores"


def test_empty_means_that_there_is_none() -> None:
    settings = Settings({"SLACK_WEBHOOK_SECRET_ARN": "", "CHAT_TOPIC_ARN": "", "NOTIFICATION_TOPIC_ARN": ""})
    assert settings.slack_webhook_secret_arn is None
    assert settings.chat_topic_arn is None
    assert settings.notification_topic_arn is None
    assert (settings.event_bus_name, settings.agent_directory, settings.price_overrides) == (
        "default",
        "/opt",
        "",
    )


def test_the_rule_for_modifications_is_one_of_two() -> None:
    assert Settings({}).modification_rule == "4-in-24-h"
    assert Settings({"MODIFICATION_RULE": "6-h"}).modification_rule == "6-h"
    with pytest.raises(ValueError, match="8-h"):
        _ = Settings({"MODIFICATION_RULE": "8-h"}).modification_rule


def test_the_region_is_lambdas_own() -> None:
    assert Settings({"AWS_REGION": "ap-northeast-1", "AWS_DEFAULT_REGION": "x"}).region == "ap-northeast-1"
    assert Settings({"AWS_DEFAULT_REGION": "us-east-1"}).region == "us-east-1"
    with pytest.raises(MissingSettingError):
        _ = Settings({}).region


def test_every_channel_that_the_stack_has_is_wired(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewarm import wiring  # noqa: PLC0415

    assert [channel.name for channel in wiring.messages()._channels] == ["eventbridge"]
    monkeypatch.setenv("SLACK_WEBHOOK_SECRET_ARN", "arn:secret")
    monkeypatch.setenv("NOTIFICATION_TOPIC_ARN", "arn:aws:sns:us-east-1:123456789012:mail")
    monkeypatch.setenv("CHAT_TOPIC_ARN", "arn:aws:sns:us-east-1:123456789012:chat")
    names = [channel.name for channel in wiring.messages()._channels]
    assert names == ["eventbridge", "slack", "email", "chat"]
