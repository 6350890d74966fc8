"""The document that runs fio, as steps in virtual time: the same lines, exit statuses and JSON.

`warmer bench` runs it. A device is read at its volume's limits; nothing is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from local import Json
from local.soak.lab.scheduler import Future

if TYPE_CHECKING:
    from local.soak.lab.instances.agent import Trouble
    from local.soak.lab.instances.data_plane import MemoryDataPlane, Volume

Steps = Generator[Future, Any, Any]
BENCHMARK = "benchmark"
"""The action that a trouble of this document names."""
READ_MS = 0.7
VERSION = "fio-3.33"
MIB = 1_048_576
COMMAND = "bench"
"""The agent's command that the document starts."""


def benchmark(
    data_plane: MemoryDataPlane,
    instance_id: str,
    given: dict[str, str],
    end: Callable[[int, str, str], None],
    trouble: Trouble | None,
) -> Steps:
    """To the end of the script."""
    if trouble is not None and trouble.kind == "no-fio":
        end(67, "", "warmer: fio is not installed; with installFio in the request it may be")
        return
    said, failed, count = "", 0, 0
    for job in given["jobs"].split(" / "):
        for target in given["targets"].split():
            yield data_plane.scheduler.sleep(_flag(job, "runtime", 60))
            if trouble is not None and trouble.kind == "hangs":
                yield Future()
            text, is_good = _run(data_plane, instance_id, target, job)
            said, failed, count = said + text, failed + (not is_good), count + 1
    if trouble is not None and trouble.kind == "no-upload":
        end(69, "", "warmer: could not upload the result: curl: (22) 403")
        return
    data_plane.store.put(given["result_url"], said.encode())
    result = {"event": "result", "command": "benchmark", "runs": count, "failed": failed}
    end(0, json.dumps(result, separators=(",", ":")) + "\n", "")


def _flag(job: str, name: str, default: float) -> float:
    """The number behind a flag: seconds, KiB or a count."""
    found = re.search(rf"--{name}=(\d+)", job)
    return float(found[1]) if found else default


def _run(data_plane: MemoryDataPlane, instance_id: str, target: str, job: str) -> tuple[str, bool]:
    """(what the script writes of one run, whether fio ended well)."""
    name = job.split(maxsplit=1)[0]
    device = f"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol{target.removeprefix('vol-')}"
    begin = f"#run target={target} pattern={name} fileSystem= source={device}"
    volume = data_plane.volumes.get(target)
    if volume is None or instance_id not in volume.attached_to:
        return f"{begin} serial=\n#note there is no {device}\n#status 75\n\n", False
    begin += f" serial={volume.volume_id.replace('-', '')}\n"
    return f"{begin}#status 0\n{json.dumps(_account(name, volume, job))}\n", True


def _account(name: str, volume: Volume, job: str) -> Json:
    """What fio 3 prints (fio HOWTO, "JSON output"), as far as anybody reads it."""
    seconds, block_kib, depth = (_flag(job, *flag) for flag in (("runtime", 60), ("bs", 4), ("iodepth", 1)))
    by_throughput = volume.limits.throughput_mib_s * 1_024 / block_kib
    iops = min(depth * 1_000 / READ_MS, volume.limits.iops, by_throughput)
    reads, latency = int(iops * seconds), depth / iops * 1e9
    volume.sample(reads, seconds)
    percentile = {"50.000000": latency, "99.000000": 2 * latency, "99.900000": 3 * latency}
    read = {
        "iops": iops,
        "bw_bytes": iops * block_kib * 1_024,
        "runtime": seconds * 1_000,
        "total_ios": reads,
        "clat_ns": {"mean": latency, "max": 4 * latency, "percentile": percentile},
    }
    write = {"iops": 0, "bw_bytes": 0, "runtime": 0, "total_ios": 0, "clat_ns": {}}
    return {"fio version": VERSION, "jobs": [{"jobname": name, "error": 0, "read": read, "write": write}]}
