"""docs/demo.md and README.md show a run as today's programs print it: `make demo-docs` writes both."""

from __future__ import annotations

import re

from local import ROOT, yaml_text
from local.tools.run.demo import BLOCK, DEMO, EXCERPT, README, block_in, quoted, shortened
from rewarm.domain.model import Strategy

RUN = f"""\
Rewarm on the embedded AWS: an EBS snapshot back at full speed, and the proof.
1. After an alarm ────
EventBridge: CloudWatch Alarm State Change
  +0:02.7 restore   Choose Strategy             warm-up-agent: because it is cheap
  +0:28.0 volume 0  Poll Initialization         93 %
  +0:33.1 volume 0  Verify Volume After         256 reads of 4 KiB
2. By POST /restores, with a provisioned rate ────
$ curl -X POST -d '{{"source": 1}}' https://example.com
202 Accepted: restore-1
  +0:00.4 restore   Choose Strategy             provisioned-rate
  +0:00.5 restore   Announce Plan               sent
  +0:00.6 restore   Announce Plan               sent
Cost: planned $0.0012
Report: {ROOT}/.local/reports/restore-1.html
""".splitlines()


def shown(path, pattern):
    text = (ROOT / path).read_text(encoding="utf-8")
    start, end = block_in(text, pattern)
    return text[start:end].splitlines()


def test_the_second_restore_is_shortened_and_no_path_of_the_machine_is_shown():
    lines = list(shortened(RUN))
    assert lines[:7] == RUN[:7]
    assert lines[7:] == [
        "$ curl -X POST …",
        "202 Accepted: restore-1",
        "  +0:00.4 restore   Choose Strategy             provisioned-rate",
        "…",
        "Cost: planned $0.0012",
        "Report: .local/reports/restore-1.html",
    ]


def test_the_readme_quotes_the_lines_that_are_there():
    assert list(quoted(RUN)) == [
        "1. After an alarm",
        "EventBridge: CloudWatch Alarm State Change",
        "  +0:02.7 restore   Choose Strategy             warm-up-agent: …",
        "  +0:33.1 volume 0  Verify Volume After         256 reads of 4 KiB",
    ]


def test_the_demo_has_todays_strategies_and_outputs():
    lines = shown(DEMO, BLOCK)
    text = "\n".join(lines)
    offered = {strategy.value for strategy in Strategy if strategy.makes_volume}
    assert set(re.findall(r"^│ (?:→ |  )([a-z-]+) ", text, re.MULTILINE)) == offered
    # It is deployed with every part, and without an issuer of tokens.
    outputs = yaml_text.template()["Outputs"].values()
    assert f" {sum(output.get('Condition') != 'HasJwt' for output in outputs)} outputs" in text


def test_the_readme_quotes_the_run_of_the_demo():
    demo = shown(DEMO, BLOCK)
    assert [line for line in quoted(demo) if line not in shown(README, EXCERPT)] == []
