"""What `after` may say."""

from __future__ import annotations

import pytest

from rewarm.contracts.parsing import parse_restore_request
from rewarm.domain.errors import InvalidRequestError
from tests.support.builders import TO_INSTANCE, TO_ZONE

CHECK = {"url": "http://localhost:8080/health?full=1"}


def refusal(after, body=TO_INSTANCE, **more):
    with pytest.raises(InvalidRequestError) as refused:
        parse_restore_request({**body, "after": after, **more})
    return str(refused.value)


def test_every_part_has_a_title_and_a_limit_in_order():
    after = {
        "mounts": [{"path": "/srv/data"}, {"device": "/dev/sdg", "timeLimitSeconds": 30}],
        "document": {"name": "start-orders", "version": "3", "parameters": {"service": ["orders"]}},
        "healthCheck": {"command": ["orders-check", "--port=5432"], "withinSeconds": 60},
    }
    request = parse_restore_request({**TO_INSTANCE, "after": after})
    assert request.after.limits == [
        ("mount /srv/data", 120),
        ("mount /dev/sdg", 30),
        ("document start-orders", 600),
        ("health check", 60),
    ]
    assert parse_restore_request(request.to_json()) == request


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://example.com/",
        "http://127.0.0.1@example.com/",
        "http://127.0.0.1.example.com/",
        "http://localhost:8080/$(id)",
        "http://localhost/'a",
        "file:///etc/passwd",
    ],
)
def test_only_the_instance_itself_is_asked(url):
    assert "after.healthCheck.url" in refusal({"healthCheck": {"url": url}})


@pytest.mark.parametrize("name", ["../sh", "/bin/sh", "sh;id", "-c", "a b", ""])
def test_a_check_is_the_name_of_a_program_and_no_path(name):
    assert "after.healthCheck.command.0" in refusal({"healthCheck": {"command": [name]}})


@pytest.mark.parametrize("word", ["$(id)", "a b", "'", "a;b", "*"])
def test_an_argument_is_a_plain_word(word):
    assert "after.healthCheck.command.1" in refusal({"healthCheck": {"command": ["check", word]}})


@pytest.mark.parametrize("path", ["data", "/data/", "/a b", "/a'b", "/$x", "//data"])
def test_a_folder_is_a_plain_path(path):
    assert "after.mounts.0.path" in refusal({"mounts": [{"path": path}]})


@pytest.mark.parametrize("name", ["AWS/x", "arn:aws:ssm:us-east-1:1:document/x", "a", "a b"])
def test_a_document_is_one_of_the_account(name):
    assert "after.document.name" in refusal({"document": {"name": name}})


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({}, "after: has no part; allowed are mounts, document and healthCheck"),
        ({"healthCheck": {}}, "after.healthCheck: found neither; exactly one of url, command"),
        ({"healthCheck": {**CHECK, "command": ["a"]}}, "after.healthCheck: found both"),
        ({"mounts": [{"path": "/a"}, {"path": "/b"}]}, "after.mounts: two have one device"),
        ({"when": "hot", "mounts": [{}]}, "after.when: found"),
    ],
)
def test_what_does_not_go_together_is_refused(after, words):
    assert words in refusal(after)


def test_it_needs_an_instance():
    assert "after: only goes with target.instanceId" in refusal({"mounts": [{}]}, TO_ZONE)


@pytest.mark.parametrize("target", [{"mode": "rewind"}, {"mode": "replace", "reboot": True}])
def test_a_volume_that_comes_at_the_end_is_ready_first(target):
    target = {**TO_INSTANCE["target"], **target}
    assert "after.when: found attached" in refusal({"when": "attached", "mounts": [{}]}, target=target)


def test_a_drill_brings_the_application_back_only_where_that_is_said():
    drill = {"runbook": "rewarm-orders", "recoveryTimeMinutes": 30}
    only = "after: a drill brings the application back only where drill.after is true"
    assert refusal({"mounts": [{}]}, drill=drill) == only
    drill["after"] = True
    assert refusal(None, drill=drill) == "drill.after: found true, and the runbook has no `after`"
    assert parse_restore_request({**TO_INSTANCE, "after": {"mounts": [{}]}, "drill": drill}).after is not None


@pytest.mark.parametrize(
    "options",
    [
        "suid",
        "noatime,dev",
        "exec",
        "remount,rw",
        "bind",
        "user=alice",
        "errors=panic",
        "ro,helper=own",
        "degraded",
    ],
)
def test_an_option_of_a_mount_that_is_not_known_to_be_safe_is_refused(options):
    said = refusal({"mounts": [{"path": "/srv/data", "options": options}]})
    assert "after.mounts.0.options" in said
    assert "allowed is ro, rw, atime, noatime" in said
    assert "others belong into the instance's fstab" in said


def test_options_of_each_kind_of_file_system_are_taken():
    options = "noatime,errors=remount-ro,nouuid,subvol=@data/orders,compress=zstd:3"
    after = {"mounts": [{"path": "/srv/data", "options": options}]}
    assert parse_restore_request({**TO_INSTANCE, "after": after}).after.mounts[0].options == options


def test_a_parameter_names_no_value_that_systems_manager_would_look_up():
    document = {"name": "start-orders", "parameters": {"service": ["{{ssm:/prod/password}}"]}}
    said = refusal({"document": document})
    assert "after.document.parameters: " in said
    assert "allowed is lists of texts without {{" in said
    document["parameters"] = {"service": ["{one}", "a{b", "{"]}
    assert parse_restore_request({**TO_INSTANCE, "after": {"document": document}}).after.document
