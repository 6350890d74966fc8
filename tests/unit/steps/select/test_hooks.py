"""What is checked of `after` before the answer, and noted when the restore begins."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import AccessDeniedError, InvalidRequestError
from rewarm.steps.record.application import document_of, note_document
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.select.hooks import check_after, check_document, look
from tests.support.builders import RESTORE_ID, TO_INSTANCE, World, assignment, instance, request

DOCUMENT = {"name": "start-orders"}


def refusal(after, *volumes, **changes):
    with pytest.raises(InvalidRequestError) as refused:
        check_after(request(TO_INSTANCE, after=after), instance(**changes), volumes or [assignment()])
    return str(refused.value)


class TestPlace:
    def test_one_volume_needs_no_device(self):
        check_after(request(TO_INSTANCE, after={"mounts": [{}]}), instance(), [assignment()])

    def test_of_several_each_mount_names_one_of_them(self):
        volumes = [assignment(), assignment(index=1, device="/dev/sdg")]
        said = refusal({"mounts": [{"path": "/data"}]}, *volumes)
        assert said.startswith("after.mounts.0.device: found none; allowed are")
        assert "found /dev/sdz" in refusal({"mounts": [{"device": "/dev/sdz"}]}, *volumes)
        good = {"mounts": [{"device": "/dev/sdg"}]}
        check_after(request(TO_INSTANCE, after=good), instance(), volumes)

    def test_a_drill_brings_an_application_back_on_one_volume_only(self):
        volumes = [assignment(), assignment(index=1, device="/dev/sdg")]
        drill = {"runbook": "rewarm-orders", "after": True}
        asked = request(TO_INSTANCE, after={"mounts": [{"device": "/dev/sdg"}]}, drill=drill)
        with pytest.raises(InvalidRequestError, match=r"drill\.after: found 2 volumes"):
            check_after(asked, instance(), volumes)

    @pytest.mark.parametrize(
        ("after", "field"),
        [
            ({"mounts": [{}]}, "after.mounts"),
            ({"healthCheck": {"url": "http://127.0.0.1/"}}, "after.healthCheck"),
        ],
    )
    def test_windows_mounts_and_checks_by_a_document(self, after, field):
        assert refusal(after, platform="windows").startswith(f"{field}: i-")

    def test_a_document_goes_with_windows(self):
        check_after(request(TO_INSTANCE, after={"document": DOCUMENT}), instance(platform="windows"), [])


class TestDocument:
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"tags": {}}, "lacks the tag rewarm:hooks with the value rewarm"),
            ({"tags": {"rewarm:hooks": "another"}}, "lacks the tag rewarm:hooks with the value rewarm"),
            ({"platforms": frozenset({"Windows"})}, "is for Windows, not for linux"),
            ({"kind": "Automation"}, "is of the kind Automation; only Command is allowed"),
        ],
    )
    def test_one_that_cannot_be_sent_is_refused_with_the_reason(self, changes, words):
        world = World()
        world.documents.add("start-orders", **changes)
        with pytest.raises(InvalidRequestError, match=words):
            self.check(world)

    def check(self, world, **more):
        asked = request(TO_INSTANCE, after={"document": {**DOCUMENT, **more}})
        check_document(asked, "linux", stack_name="rewarm", documents=world.documents)

    def test_one_that_is_missing_is_refused(self):
        with pytest.raises(
            InvalidRequestError, match=r"after.document.name: .* has no document start-orders"
        ):
            self.check(World())

    def test_a_version_that_is_missing_is_named(self):
        world = World()
        world.documents.add("start-orders")
        self.check(world, version="1")
        with pytest.raises(InvalidRequestError, match="with the version 2"):
            self.check(world, version="2")

    def test_another_version_than_the_default_one_is_refused(self):
        world = World()
        world.documents.add("start-orders")
        world.documents.add("start-orders")
        self.check(world, version="2")
        words = "version 1 of the document start-orders is not its default version, which is 2"
        with pytest.raises(InvalidRequestError, match=words):
            self.check(world, version="1")

    @pytest.mark.parametrize(
        ("named", "allowed"), [("1", True), ("11 1", True), ("11", False), ("1,3", False)]
    )
    def test_its_owner_names_more_of_them_by_a_tag(self, named, allowed):
        world = World()
        tags = {"rewarm:hooks": "rewarm", "rewarm:hook-versions": named}
        for _ in range(2):
            world.documents.add("start-orders", tags=tags)
        if allowed:
            self.check(world, version="1")
        else:
            with pytest.raises(InvalidRequestError, match="its tag rewarm:hook-versions does not name it"):
                self.check(world, version="1")

    def test_an_error_of_aws_is_not_taken_for_a_missing_document(self):
        world = World()
        world.documents.failure = AccessDeniedError("no")
        with pytest.raises(AccessDeniedError):
            self.check(world)

    def test_the_version_and_the_problem_are_noted(self):
        world = World()
        found = world.documents.add("start-orders", tags={})
        asked = request(TO_INSTANCE, after={"document": DOCUMENT}).after.document
        _, problem = look(asked, platform="linux", stack_name="rewarm", documents=world.documents)
        restore = RestoreNotes(world.table, RESTORE_ID)
        note_document(found, problem, restore)
        noted = document_of(restore.read())
        assert (noted.version, noted.sha256) == ("1", "sha-start-orders-1")
        assert "lacks the tag" in noted.problem
