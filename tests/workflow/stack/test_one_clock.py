"""Message, report and page of a restore say the same time until full speed, from when the request arrived."""

from __future__ import annotations

import json
import re

import pytest

from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.paths import request, restored
from rewarm.domain.units import elapsed_text
from rewarm.page import render

BUCKET = "rewarm-artifactsbucket"


@pytest.mark.parametrize("strategy", ["warm-up-agent", "provisioned-rate"])
def test_full_speed_is_after_the_same_time_everywhere(strategy: str) -> None:
    with FastLab() as lab:
        (restore_id,) = restored(lab, request(lab, strategy)).restore_ids
        record = lab.api("GET", f"/restores/{restore_id}")[1]
        report = json.loads(lab.buckets[BUCKET][record["reportKey"]].value)
        messages = {sent["detail"]["event"]: sent["detail"] for sent in lab.events.sent}
        slack = json.dumps(lab.slack)
    took = elapsed_text(report["slowestSeconds"])
    assert report["volumes"][0]["actualSeconds"] == report["slowestSeconds"]
    ready = messages["ready"]
    assert f" is at full speed, {took} after the request arrived." in ready["text"]
    assert ready["fields"][0]["value"].startswith(f"{took} from the request; ")
    assert f"is at full speed, {took} after the request arrived." in slack
    words = " ".join(re.sub(r"<[^>]*>", " ", render(report)).split())
    assert f"the volume at full speed {took} after the request" in words
    assert f"At full speed, after the request {took}" in words
