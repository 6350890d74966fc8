"""fio's JSON as version 3 writes it, with the figures that a test wants."""

from __future__ import annotations

import json
from typing import Any


def side(
    iops: float, *, block_kib: int = 4, seconds: float = 60, mean_ms: float = 0.6, p99_ms: float = 2.0
) -> Any:
    """Reads or writes; 0 IOPS are none."""
    clat = {
        "min": 1_000,
        "max": int(p99_ms * 2e6),
        "mean": mean_ms * 1e6,
        "stddev": 1.0,
        "N": int(iops * seconds),
        "percentile": {"50.000000": int(mean_ms * 1e6), "99.000000": int(p99_ms * 1e6),
                       "99.900000": int(p99_ms * 1.5e6)},
    }  # fmt: skip
    return {
        "io_bytes": int(iops * seconds * block_kib * 1024),
        "bw_bytes": int(iops * block_kib * 1024),
        "bw": int(iops * block_kib),
        "iops": iops,
        "runtime": int(seconds * 1e3) if iops else 0,
        "total_ios": int(iops * seconds),
        "clat_ns": clat if iops else {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0},
    }


def account(
    read: Any = None, write: Any = None, *, version: str = "fio-3.33", error: int = 0
) -> dict[str, Any]:
    """The whole object."""
    job = {"jobname": "x", "error": error, "read": read or side(0), "write": write or side(0)}
    return {"fio version": version, "timestamp": 1, "jobs": [job]}


def run_text(
    target: str, pattern: str, fio: Any, *, status: int = 0, serial: str | None = None, note: str = ""
) -> str:
    """What the document uploads of one run; a volume that is its target has its own number."""
    if serial is None:
        serial = target.replace("vol-", "vol") if target.startswith("vol-") else ""
    text = f"#run target={target} pattern={pattern} fileSystem=ext4 source=/dev/nvme1n1 serial={serial}\n"
    text += f"#note {note}\n" if note else ""
    return f"{text}#status {status}\n{json.dumps(fio) if fio is not None else ''}\n"
