"""Boosts of adopted volumes in the fast lab: raised, reported, and lowered however the restore ends."""

from __future__ import annotations

import json

import pytest

from local.soak.audit.adoptions import AdoptionAudit
from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import VOLUME
from local.soak.lab.lab import FastLab
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.adopt_paths import READS, adoption, boostable, lose_boosts
from local.soak.trouble.paths.fleet_paths import PATHS
from local.soak.trouble.paths.interrupted_paths import stop
from local.soak.trouble.paths.paths import in_state, restored
from rewarm.page.render import render
from tests.unit.page.test_page import outline

RAISED, LOWERED = 204, 200
STILL = "volume {} of somebody else still has its boost"


def iops(lab: FastLab) -> list[int | None]:
    """What every volume was changed to, in order."""
    volumes = lab.region._tables.volumes.values()
    return [change.target.iops for volume in volumes for change in volume.modifications]


@pytest.mark.parametrize(
    ("path", "kind", "said", "changes"),
    [
        ("", "ready", "EC2 takes its next change only when it has finished the raise", [RAISED, LOWERED]),
        ("-until-warm", "ready", "is lowered to io2 with 100 IOPS", [104, 100]),
        ("-and-cancelled-late", "failed RestoreCancelledError", "was cancelled", [104, 100]),
        ("-and-cancelled", "failed RestoreCancelledError", "Left behind: boost of", [RAISED, LOWERED]),
        ("-and-stopped", "aborted", "Left behind: boost of", [RAISED, LOWERED]),
        ("-and-lowered-by-hand", "ready", "is lowered to io2 with 200 IOPS", [RAISED, LOWERED]),
        ("-and-changed-by-hand", "ready", "somebody has changed it to io2 with 150 IOPS", [RAISED, 150]),
        ("-without-consent-by-then", "ready", "aws ec2 modify-volume --volume-id", [RAISED]),
    ],
)
def test_a_boost_is_told_and_ends(path: str, kind: str, said: str, changes: list[int]) -> None:
    with FastLab(1) as lab:
        ending = PATHS[f"adopted-and-boosted{path}"].play(lab)
        lab.pass_time(SWEPT_SECONDS)
        assert (ending.kind, iops(lab)) == (kind, changes)
        assert said in json.dumps([sent["detail"] for sent in lab.events.sent])
        assert Auditor(lab).findings(ending) == []


@pytest.mark.parametrize("end", ["ready", "cancelled", "stopped"])
def test_a_boost_whose_note_somebody_deletes_is_told_and_ends(end: str) -> None:
    with FastLab(1) as lab:

        def meddle(restore_id: str) -> None:
            in_state(lab, restore_id, *READS)
            lose_boosts(lab)
            assert lab.outside.lost
            if end == "cancelled":
                lab.api("DELETE", f"/restores/{restore_id}")
            elif end == "stopped":
                stop(lab, f"{restore_id}-0", VOLUME)
                stop(lab, restore_id)

        ending = restored(lab, adoption(boostable(lab), strategy="boosted-warm-up", boost=True), meddle)
        lab.pass_time(SWEPT_SECONDS)
        assert iops(lab) == [RAISED, LOWERED]
        assert "aws ec2 modify-volume --volume-id" in json.dumps([sent["detail"] for sent in lab.events.sent])
        assert Auditor(lab).findings(ending) == []


@pytest.mark.parametrize("path", ["", "-and-cancelled", "-and-stopped"])
def test_a_boost_that_is_not_lowered_is_in_report_page_and_message(path: str) -> None:
    """However the adoption ended: with what it costs, and with the command that lowers it."""
    with FastLab(1) as lab:
        ending = PATHS[f"adopted-and-boosted{path}"].play(lab)
        if path == "-and-stopped":
            lab.pass_time(1_000)
        (restore_id,) = ending.restore_ids
        _, record = lab.api("GET", f"/restores/{restore_id}")
        report = json.loads(lab.buckets[lab.stack.buckets[0]][record["reportKey"]].value)
        (left,) = report["left"]
        assert " is still io2 with " in left["thing"]
        assert float(left["usdPerMonth"]) > 0
        assert left["remove"].startswith("aws ec2 modify-volume --volume-id vol-")
        assert record["left"] == report["left"]
        assert left["remove"] in outline(render(report)).text
        assert "an hour" in json.dumps([sent["detail"] for sent in lab.events.sent])
        assert left["remove"] in json.dumps([sent["detail"] for sent in lab.events.sent])


def test_a_boost_that_ec2_refuses_does_not_keep_the_volume_from_being_warmed_up() -> None:
    with FastLab(1) as lab:
        ending = PATHS["adopted-and-not-boosted"].play(lab)
        assert ending.kind == "ready"
        said = json.dumps([sent["detail"] for sent in lab.events.sent])
        assert "It was not boosted to io2 with 204 IOPS: EC2 refused it" in said
        assert iops(lab) == [200], "its owner's own change"


def test_the_auditor_finds_a_boost_that_nobody_has_lowered_yet() -> None:
    with FastLab(1) as lab:
        ending = PATHS["adopted-and-boosted"].play(lab)
        (name,) = ending.ready
        assert Auditor(lab).findings(ending) == [STILL.format(name)]
        audit = AdoptionAudit(lab)
        assert (audit.boosts(), audit.still_raised()) == ({name: ["raised"]}, {name: True})
        lab.slack.clear()
        lab.events.sent.clear()
        assert audit.still_raised() == {name: False}


@pytest.mark.parametrize(("rule", "hours"), [("4-in-24-h", 0.6), ("6-h", 6)])
def test_the_price_counts_how_long_ec2_takes_no_other_change(rule: str, hours: float) -> None:
    """In the plan that is asked for, and in the one that is carried out; of 100 GiB."""
    with FastLab(1, parameters={"ModificationRule": rule}) as lab:
        asked = adoption(boostable(lab), strategy="boosted-warm-up", boost=True)
        plans = lab.api("POST", "/plans", asked)[1]["plans"]
        (restore_id,) = restored(lab, asked).restore_ids
        plans += lab.api("GET", f"/restores/{restore_id}")[1]["plans"]
        for plan in plans:
            (boost,) = (part for part in plan["plan"]["costParts"] if part["seconds"])
            ready = plan["plan"]["readyP90Seconds"]
            assert boost["seconds"] == pytest.approx(max(ready, hours * 3_600 + 900), rel=0.03)
