"""A function that ends between SendCommand and the note of the command's id leaves no second agent behind."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from rewarm.adapters.clients import CONNECT_SECONDS, READ_SECONDS
from rewarm.domain.errors import AccessDeniedError, RestoreError, ServiceUnavailableError, ThrottledError
from rewarm.steps.warm.agent_command import ANSWER_AFTER, NOTED_WITHIN, SHOWN_AFTER
from tests.support.builders import INSTANCE_ID, RESTORE_ID, VOLUME_ID, World
from tests.support.worlds.sweeping import SweepWorld
from tests.unit.steps.verify.test_verify_volume import verify
from tests.unit.steps.warm.test_dispatch_warmer import dispatch


def crash(world, step, **changes):
    """Its command runs, and neither its answer nor its id has come to anybody."""
    world.commands.lost_answers = 1
    with pytest.raises(ServiceUnavailableError):
        step(world, **changes)


def refuse_the_id(world, monkeypatch):
    """Of what is sent, the table notes only that it was about to be."""
    write = world.table.update_volume

    def refuse(restore_id, index, changes):
        if {"command", "measurement"} & changes.keys():
            raise ThrottledError("UpdateItem: slow down")
        write(restore_id, index, changes)

    monkeypatch.setattr(world.table, "update_volume", refuse)


def sending(world):
    return world.table.get_volume(RESTORE_ID, 0).get("sending")


@pytest.fixture
def world():
    return World()


@pytest.mark.parametrize("step", [dispatch, verify])
class TestRetriedState:
    def test_goes_on_with_the_command_that_runs(self, world, step):
        crash(world, step)
        assert step(world).command_id == "command-1"
        assert (len(world.commands.sent), world.commands.cancelled) == (1, [])
        assert sending(world) is None

    def test_goes_on_with_one_that_has_ended_meanwhile(self, world, step):
        crash(world, step)
        world.commands.finish("command-1", stdout={})
        assert step(world).command_id == "command-1"

    def test_waits_while_ssm_may_not_show_it_yet(self, world, step):
        crash(world, step)
        world.commands.hidden.add("command-1")
        with pytest.raises(ServiceUnavailableError, match="SSM may not show yet"):
            step(world)
        world.commands.hidden.clear()
        assert step(world).command_id == "command-1"

    def test_sends_it_again_once_it_is_known_that_nothing_was_sent(self, world, step):
        crash(world, step)
        world.commands.hidden.add("command-1")
        world.commands.clock += SHOWN_AFTER
        assert step(world).command_id == "command-2"
        assert sending(world) is None

    def test_takes_up_the_one_whose_id_could_not_be_noted(self, world, step, monkeypatch):
        """It is not cancelled: SSM would go on listing it as running for a while, and it came to nothing."""
        refuse_the_id(world, monkeypatch)
        with pytest.raises(ThrottledError):
            step(world)
        monkeypatch.undo()
        assert sending(world) is not None, "clean-up finds it, too"
        assert step(world).command_id == "command-1"
        assert (len(world.commands.sent), world.commands.cancelled) == (1, [])
        assert sending(world) is None

    def test_never_takes_one_that_was_cancelled(self, world, step):
        crash(world, step)
        world.commands.cancelled.append("command-1")
        world.commands.clock += SHOWN_AFTER
        assert step(world).command_id == "command-2"

    def test_a_refused_command_was_not_sent_and_is_not_looked_for(self, world, step):
        world.commands.failure = ThrottledError("SendCommand")
        with pytest.raises(ThrottledError):
            step(world)
        assert sending(world) is None
        world.commands.failure = None
        assert step(world).command_id == "command-1"


class KilledError(BaseException):
    """The function itself ends: nothing of it runs any more."""


class TestTimeThatSsmHas:
    """It begins with the last moment in which the command may have been sent."""

    def test_an_answer_takes_no_longer(self):
        assert ANSWER_AFTER.total_seconds() == CONNECT_SECONDS + READ_SECONDS

    def test_counts_from_the_lost_answer(self, world):
        before = world.commands.clock
        crash(world, dispatch)
        times = [datetime.fromisoformat(sending(world)[name]) for name in ("since", "until")]
        assert times == [before, before + timedelta(seconds=READ_SECONDS)]
        assert times[1] == world.commands.clock

    def test_is_no_longer_where_an_error_came_at_once(self, world, monkeypatch):
        """The Retry of the states has eight tries for all."""
        monkeypatch.setattr(world.commands, "failure", ServiceUnavailableError("SendCommand: HTTP 500"))
        with pytest.raises(ServiceUnavailableError):
            dispatch(world)
        monkeypatch.undo()
        world.commands.clock += SHOWN_AFTER
        assert dispatch(world).command_id == "command-1"

    @pytest.mark.parametrize("later", [timedelta(0), SHOWN_AFTER - timedelta(seconds=1)])
    def test_a_killed_function_leaves_some_of_it(self, world, monkeypatch, later):
        send = world.commands.send

        def killed(*args, **kwargs):
            send(*args, **kwargs)
            world.commands.clock += ANSWER_AFTER
            raise KilledError

        monkeypatch.setattr(world.commands, "send", killed)
        with pytest.raises(KilledError):
            dispatch(world)
        monkeypatch.undo()
        world.commands.hidden.add("command-1")
        world.commands.clock += later
        with pytest.raises(ServiceUnavailableError, match="SSM may not show yet"):
            dispatch(world)
        world.commands.hidden.clear()
        assert dispatch(world).command_id == "command-1"

    def test_a_note_that_was_long_in_writing_is_written_again(self, world, monkeypatch):
        write, slow = world.table.update_volume, [timedelta(seconds=30)]

        def update(*args):
            write(*args)
            world.commands.clock += slow.pop() if slow else timedelta(0)

        monkeypatch.setattr(world.table, "update_volume", update)
        monkeypatch.setattr(world.commands, "failure", KilledError())
        with pytest.raises(KilledError):
            dispatch(world)
        assert datetime.fromisoformat(sending(world)["since"]) == world.commands.clock
        assert timedelta(seconds=30) > NOTED_WITHIN

    def test_the_lost_answer_is_told_where_its_time_cannot_be_noted(self, world, monkeypatch):
        write, notes = world.table.update_volume, []

        def update(*args):
            notes.append(args)
            if len(notes) > 1:
                raise ThrottledError("UpdateItem: slow down")
            write(*args)

        monkeypatch.setattr(world.table, "update_volume", update)
        crash(world, dispatch)
        assert sending(world) is not None


class TestOthers:
    def test_a_measurement_that_nobody_noted_ends_before_the_warm_up(self, world):
        crash(world, verify)
        assert dispatch(world).command_id == "command-2"
        assert world.commands.cancelled == ["command-1"]

    def test_another_warm_up_is_another_command(self, world):
        crash(world, dispatch)
        assert dispatch(world, warm_ups=1).command_id == "command-2"
        assert world.commands.cancelled == ["command-1"]

    def test_of_two_that_nobody_noted_one_goes_on(self, world):
        crash(world, dispatch)
        world.commands.hidden.add("command-1")
        world.commands.clock += SHOWN_AFTER
        crash(world, dispatch)
        world.commands.hidden.clear()
        assert dispatch(world).command_id == "command-2"
        assert world.commands.cancelled == ["command-1"]

    def test_the_comment_tells_the_commands_of_a_volume_apart(self, world):
        verify(world, phase="before")
        verify(world, phase="after")
        dispatch(world)
        assert list(world.commands.comments.values()) == [
            f"rewarm verify {VOLUME_ID} before.0.1 for {RESTORE_ID}",
            f"rewarm verify {VOLUME_ID} after.0.1 for {RESTORE_ID}",
            f"rewarm warm {VOLUME_ID} 0.0 for {RESTORE_ID}",
        ]


class TestCleanUp:
    @pytest.fixture
    def world(self):
        """A restore that was stopped, with a command that nobody has noted."""
        made = SweepWorld()
        comment = f"rewarm warm {VOLUME_ID} 0.0 for {RESTORE_ID}"
        made.commands.send(INSTANCE_ID, {}, platform="linux", comment=comment, timeout_seconds=300)
        note = {"comment": comment, "instanceId": INSTANCE_ID, "platform": "linux"}
        made.begun(sending0={**note, "since": made.commands.clock.isoformat()})
        made.commands.clock += timedelta(minutes=30)
        return made

    def test_cancels_it(self, world):
        assert [one.state for one in world.sweep()] == ["ended"]
        assert world.commands.cancelled == ["command-1"]

    def test_looks_again_while_ssm_may_not_show_it_yet(self, world):
        world.commands.clock -= timedelta(minutes=30)
        world.commands.hidden.add("command-1")
        assert [one.state for one in world.sweep()] == ["ending"]
        world.commands.hidden.clear()
        world.sweep()
        assert world.commands.cancelled == ["command-1"]

    @pytest.mark.parametrize(
        ("failure", "state"), [(ThrottledError("Rate"), "ending"), (AccessDeniedError("denied"), "left")]
    )
    def test_says_that_it_could_not_look(self, world, failure: RestoreError, state):
        world.commands.failure = failure
        assert [one.state for one in world.sweep()] == [state]
        assert "commands: " in world.messages.sent[0]["text"]

    def test_what_is_over_is_left_as_it_is(self, world):
        world.commands.finish("command-1")
        world.sweep()
        assert world.commands.cancelled == []
