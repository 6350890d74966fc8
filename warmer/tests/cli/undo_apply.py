"""undo_apply.py WARMER CASES SEED: what undoes an application is kept before anything is overwritten.

Each case draws an old and a new image, how they are split into lines, faults of the store, limits, and a moment
at which the agent or the store is killed, or puts the beginning of a log in the place of a line's. Afterwards
either nothing of a line was overwritten, or its log is whole. The logs that are there, applied by the agent as
packs of a manifest, make the old image again, byte for byte. What the agent says of written blocks is compared
with the image.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BLOCK = 524_288
VOLUME = "vol-0123456789abcdef0"
SNAPSHOT = "snap-0123456789abcdef0"
FAULTS = ["503", "drop", "cut", "late", "good", "good", "good"]
NO_RESULT = {80, 81, 82, 83, 84, 85, 86, 87, 92}
WARMER = sys.argv[1]


def block_of(draw: random.Random) -> bytes:
    """Random bytes, runs of one byte, zeros, or a mixture."""
    kind = draw.randrange(4)
    if kind == 0:
        return bytes(BLOCK)
    if kind == 1:
        return bytes([draw.randrange(256)]) * BLOCK
    piece = draw.randbytes(1024) * 128
    return piece * 4 if kind == 2 else piece + bytes(BLOCK // 4) + piece + bytes([7]) * (BLOCK // 4)


def images(draw: random.Random) -> None:
    """The file `old`, and `new`, which differs in some blocks."""
    count = draw.randint(4, 20)
    old = [block_of(draw) for _ in range(count)]
    new = [block_of(draw) if draw.random() < 0.6 else one for one in old]
    rest = draw.choice([0, 512, 4096, 200_704])
    Path("old").write_bytes(b"".join(old) + draw.randbytes(rest))
    Path("new").write_bytes(b"".join(new) + draw.randbytes(rest))


def split(data: bytes) -> list[bytes]:
    """Its blocks."""
    return [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)]


def delta(folder: Path, base: str, undo: str, draw: random.Random) -> None:
    """Packs and a manifest, each of whose lines has a log."""
    words = [
        f"pack={draw.randint(1, 6)}",
        f"part={draw.randint(1, 5)}",
        "samples=0",
        f"base={base}",
        f"undo={undo}",
    ]
    words += ["whole=1"] if draw.random() < 0.5 else []
    subprocess.run(
        [sys.executable, str(HERE / "delta.py"), "old", "new", str(folder), VOLUME, SNAPSHOT, *words],
        check=True,
    )


def index_of(pack: bytes) -> list[dict[str, Any]]:
    """The lines of a pack's index."""
    length = struct.unpack("<I", pack[4:8])[0]
    return [json.loads(one) for one in pack[8 : 8 + length].splitlines()]


def undo_manifest(packs: list[Path], size: int) -> None:
    """A manifest made of logs, as a control plane makes it."""
    head: dict[str, Any] = {"format": "rewarm-delta-1", "part": 0, "volumeId": VOLUME, "snapshotId": SNAPSHOT}
    text = json.dumps({**head, "volumeBytes": size, "blockBytes": BLOCK}) + "\n"
    blocks = 0
    for path in packs:
        data = path.read_bytes()
        length = struct.unpack("<I", data[4:8])[0]
        count = len(index_of(data))
        blocks += count
        digest = hashlib.sha256(data[8 : 8 + length]).hexdigest()
        line = {"pack": str(path.resolve()), "bytes": len(data), "blocks": count, "index": digest}
        text += json.dumps(line) + "\n"
    end = {
        "end": True,
        "packs": len(packs),
        "blocks": blocks,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    Path("back").write_text(text + json.dumps({**end, "next": None}) + "\n", encoding="utf-8")


def command(manifest: str, state: str, *more: str) -> list[str]:
    """Of an application to the image."""
    words = [WARMER, "apply", "disk", "--image", "--volume", VOLUME, "--manifest", manifest, "--state", state]
    return [*words, *more]


def start_store(draw: random.Random) -> tuple[subprocess.Popen[bytes], str]:
    """A store whose first answers are faults, and its address."""
    faults = ",".join(draw.choices(FAULTS, k=draw.randrange(8)))
    if draw.random() < 0.2:
        faults = ",".join([draw.choice(FAULTS)] * 500)
    script = [sys.executable, str(HERE / "undo_store.py"), "store", f"fail={faults}", f"cut={draw.random()}"]
    server = subprocess.Popen(
        [*script, f"ranges={draw.choice(['yes', 'no'])}", f"all={draw.choice(['yes', 'no'])}"]
    )
    address = Path("store/address")
    while not address.exists():
        assert server.poll() is None
        time.sleep(0.01)
    return server, address.read_text(encoding="utf-8")


def check_result(status: int, out: str, written: set[int]) -> None:
    """The agent that ended in order tells the truth about what it wrote."""
    result = json.loads(out.splitlines()[-1])
    if status in NO_RESULT or "written" not in result:
        assert not written, f"status {status}, but blocks {written} are written"
        return
    listed = {at for first, count in result["written"] for at in range(first, first + count)}
    assert len(listed) == result["blocksWritten"]
    assert written <= listed, f"{written} are written, and {listed} are listed"
    assert status in {0, 4, 69, 93}, out
    if status == 0:
        assert listed == written
        assert Path("disk").read_bytes() == Path("new").read_bytes()


def check_log(old: list[bytes]) -> int:
    """How many blocks are overwritten: a log has the old bytes of each, and the logs make the old image."""
    packs = sorted(one for one in Path("store").glob("undo-*") if one.suffix == "")
    kept: set[int] = set()
    for path in packs:
        for line in index_of(path.read_bytes()):
            assert line["sha256"] == hashlib.sha256(old[line["block"]]).hexdigest()
            assert line["block"] not in kept
            kept.add(line["block"])
    now = split(Path("disk").read_bytes())
    differing = {number for number, one in enumerate(now) if one != old[number]}
    assert differing <= kept, f"{differing - kept} are overwritten, and no log has them"
    undo_manifest(packs, Path("old").stat().st_size)
    subprocess.run(command("back", "state-back"), check=True, capture_output=True)
    assert Path("disk").read_bytes() == Path("old").read_bytes()
    return len(differing)


def disturb(
    kind: str, agent: subprocess.Popen[str], server: subprocess.Popen[bytes] | None, seconds: float
) -> None:
    """After a moment, end the agent or the store as they do it who ask nobody."""
    if kind == "nothing":
        return
    time.sleep(seconds)
    if kind == "store" and server is not None:
        server.kill()
    elif kind in {"kill", "interrupt"} and agent.poll() is None:
        agent.send_signal(signal.SIGKILL if kind == "kill" else signal.SIGTERM)


def case(draw: random.Random) -> tuple[str, int, int]:
    """What was done, the status, and how many blocks were overwritten."""
    shutil.rmtree("store", ignore_errors=True)
    for left in Path().glob("state*"):
        left.unlink()
    Path("store").mkdir()
    images(draw)
    is_remote = draw.random() < 0.75
    kind = draw.choice(["nothing", "kill", "kill", "interrupt", "store", "cut"])
    server, address = start_store(draw) if is_remote else (None, f"file://{Path('store').resolve()}")
    delta(Path("store"), address, address, draw)
    shutil.copyfile("old", "disk")
    if kind == "cut":
        # Somebody else's log, or the beginning of one, is in the place of a line's.
        (Path("store") / f"undo-{draw.randrange(3)}").write_bytes(draw.randbytes(draw.randrange(1000)))
    more = ["--patience-seconds", "2", "--engine", draw.choice(["auto", "threads"])]
    more += ["--compare"] if draw.random() < 0.3 else []
    more += ["--max-mib-s", str(draw.choice([20, 60]))] if draw.random() < 0.8 else []
    words = command(f"{address}/manifest", "state", *more)
    agent = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    disturb(kind, agent, server, draw.uniform(0.005, 1))
    out, _ = agent.communicate(timeout=120)
    old, now = split(Path("old").read_bytes()), split(Path("disk").read_bytes())
    written = {number for number, one in enumerate(now) if one != old[number]}
    if agent.returncode >= 0:
        check_result(agent.returncode, out, written)
    if kind == "kill" and Path("state.taken").exists():
        again = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        assert again.returncode in {87, 92}, again.stdout
        assert split(Path("disk").read_bytes()) == now, "an application with a log was resumed"
    if server is not None:
        server.kill()
        server.wait()
    if kind == "cut":
        for log in Path("store").glob("undo-*"):
            if not log.read_bytes().startswith(b"P*M\x18"):
                log.unlink()
    return kind, agent.returncode, check_log(old)


def main() -> None:
    """Run the cases; the last line counts how they ended."""
    ends: dict[str, int] = {}
    overwritten = 0
    for number in range(int(sys.argv[2])):
        seed = f"{sys.argv[3]}-{number}"
        try:
            kind, status, blocks = case(random.Random(seed))
        except Exception as problem:
            print(f"case {seed}: {problem!r}")
            raise
        ends[f"{kind} {status}"] = ends.get(f"{kind} {status}", 0) + 1
        overwritten += blocks
    told = json.dumps(dict(sorted(ends.items())))
    print(f"{sys.argv[2]} cases, {overwritten} blocks overwritten and restored: {told}")


main()
