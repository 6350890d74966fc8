"""botocore reads its models once a process, not once for each test that has moto's AWS to itself."""

from __future__ import annotations

from functools import cache
from typing import Any

from botocore.loaders import JSONFileLoader


def read_once() -> None:
    """Share what is read: nobody changes a model, but moto forgets botocore's session with its cache."""
    load = JSONFileLoader.load_file

    @cache
    def read(path: str) -> Any:
        return load(JSONFileLoader(), path)

    JSONFileLoader.load_file = lambda _loader, path: read(path)  # type: ignore[method-assign, assignment]
