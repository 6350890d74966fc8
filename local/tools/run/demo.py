"""`make demo-docs`: writes a run into docs/demo.md, and some of its lines into README.md."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from local import ROOT

DEMO, README = Path("docs", "demo.md"), Path("README.md")
BLOCK = re.compile(r"(?<=^```text\n)Rewarm on the embedded AWS.*?(?=^```$)", re.MULTILINE | re.DOTALL)
EXCERPT = re.compile(r"(?<=^```text\n)1\. After an alarm\n.*?(?=^```$)", re.MULTILINE | re.DOTALL)
SHORTENED, WHOLE_AGAIN = "2. By POST /restores", "Cost: planned"
SHOWN = (
    r"202 Accepted", r" Choose Strategy ", r" Create Volume ", r" Attach Volume .*, attached",
    r" Verify Volume (Before|After) .* reads of",
)  # fmt: skip
"""Of the second restore, up to its cost."""
QUOTED = (
    r"EventBridge: ", r"Choose Strategy +warm-up-agent: ", r"[█░]+ [4-9]\d %",
    r"Verify Volume After .* reads of", r"Confirm Readiness +confirms", r"files identical",
    r"written blocks local", r"Also left running", r"Verdict: ",
)  # fmt: skip
"""The first line with each, for README.md."""


def main() -> int:
    """Run `make run` and write what it prints; the exit status is that of the run."""
    ran = subprocess.run(
        [sys.executable, "-m", "local.tools.run"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if ran.returncode != 0:
        sys.stdout.write(ran.stdout)
        return ran.returncode
    printed = ran.stdout.splitlines()
    for path, pattern, lines in (
        (DEMO, BLOCK, shortened(printed)),
        (README, EXCERPT, quoted(printed)),
    ):
        text = (ROOT / path).read_text(encoding="utf-8")
        start, end = block_in(text, pattern)
        (ROOT / path).write_text(
            text[:start] + "".join(f"{line}\n" for line in lines) + text[end:], encoding="utf-8"
        )
        print(f"wrote {path}")
    return 0


def block_in(text: str, pattern: re.Pattern[str]) -> tuple[int, int]:
    """Where the run stands in a document. Raises ValueError."""
    found = pattern.search(text)
    if found is None:
        raise ValueError(f"no block of the document is {pattern.pattern}")
    return found.span()


def shortened(lines: Iterable[str]) -> Iterator[str]:
    """The run without most of its second restore, and without paths of this machine."""
    is_short, last = False, ""
    for line in lines:
        is_short = (is_short or line.startswith(SHORTENED)) and not line.startswith(WHOLE_AGAIN)
        said = line.replace(f"{ROOT}/", "").rstrip()
        if said.startswith("$ curl"):
            said = f"{said.partition(' -d ')[0]} …"
        elif is_short and not said.startswith(SHORTENED) and not any(re.search(one, said) for one in SHOWN):
            said = "…"
        if said != last or said != "…":
            yield said
        last = said


def quoted(lines: Sequence[str]) -> Iterator[str]:
    """What README.md shows of the first restore; a quick run may show no progress between its ends."""
    yield "1. After an alarm"
    position = 0
    for pattern in QUOTED:
        found = next((at for at in range(position, len(lines)) if re.search(pattern, lines[at])), None)
        if found is not None:
            position = found + 1
            head, colon, _ = lines[found].rstrip().partition("warm-up-agent: ")
            yield f"{head}{colon}…" if colon else head


if __name__ == "__main__":
    sys.exit(main())
