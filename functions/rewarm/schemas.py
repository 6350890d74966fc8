"""Writes the JSON schemas and examples of events/ from the contracts: `python -m rewarm.schemas events/`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rewarm import contracts
from rewarm.contracts.base import Contract
from rewarm.contracts.benchmarks import BenchmarkResult
from rewarm.contracts.plans import PlanResult
from rewarm.examples import contract_examples, input_examples

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(model: type[Contract], *, mode: str = "validation") -> dict[str, Any]:
    """In the JSON names; `serialization` for what we answer, `validation` for what we take."""
    made = model.model_json_schema(
        by_alias=True, mode="serialization" if mode == "serialization" else "validation"
    )
    return {"$schema": DRAFT, **made}


def results() -> dict[str, type[Contract]]:
    """What each step and POST /plans answer, by name."""
    return {
        "parse-request-result": contracts.ParseRequestResult,
        "select-snapshot-result": contracts.SelectSnapshotResult,
        "choose-strategy-result": contracts.ChooseStrategyResult,
        "choose-fallback-result": contracts.ChooseFallbackResult,
        "load-plan-result": contracts.LoadPlanResult,
        "keep-result-result": contracts.KeepResultResult,
        "announce-result": contracts.AnnounceResult,
        "prepare-snapshot-result": contracts.PrepareSnapshotResult,
        "create-volume-result": contracts.CreateVolumeResult,
        "check-volume-result": contracts.CheckVolumeResult,
        "replace-result": contracts.ReplaceResult,
        "attach-volume-result": contracts.AttachVolumeResult,
        "dispatch-warmer-result": contracts.DispatchWarmerResult,
        "verify-volume-result": contracts.VerifyVolumeResult,
        "poll-initialization-result": contracts.PollInitializationResult,
        "await-signal-result": contracts.AwaitSignalResult,
        "release-result": contracts.ReleaseResult,
        "clean-up-result": contracts.CleanUpResult,
        "release-target-result": contracts.ReleaseTargetResult,
        "report-result": contracts.ReportResult,
        "plan-result": PlanResult,
        "benchmark-result": BenchmarkResult,
        "change-performance-result": contracts.ChangePerformanceResult,
        "check-performance-result": contracts.CheckPerformanceResult,
    }


def documents() -> dict[str, dict[str, Any]]:
    """File name to JSON document, everything that belongs into events/."""
    files: dict[str, dict[str, Any]] = {}
    for name, example in contract_examples().items():
        files[f"{name}.schema.json"] = schema_of(type(example))
        files[f"{name}.json"] = example.to_json()
    for name, model in results().items():
        files[f"{name}.schema.json"] = schema_of(model, mode="serialization")
    for name, value in input_examples().items():
        files[f"{name}.json"] = value
    return files


def write(folder: Path) -> list[Path]:
    """Writes every document; the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, document in sorted(documents().items()):
        path = folder / name
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


def main(arguments: list[str]) -> int:
    """Exit status 2 where no folder is named."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m rewarm.schemas FOLDER\n")
        return 2
    write(Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
