"""botocore finds and reads models once a process, not once for each test that has moto's AWS to itself."""

from __future__ import annotations

from functools import cache
from typing import Any

from botocore.loaders import JSONFileLoader, Loader


def read_once() -> None:
    """Share what is read: nobody changes a model, but moto forgets botocore's session with its cache."""
    load, listed = JSONFileLoader.load_file, Loader.list_available_services
    services: dict[tuple[Any, ...], list[str]] = {}

    @cache
    def read(path: str) -> Any:
        return load(JSONFileLoader(), path)

    def listed_once(loader: Loader, type_name: str) -> list[str]:
        key = type_name, *loader.search_paths
        services[key] = services.get(key) or listed(loader, type_name)
        return list(services[key])

    JSONFileLoader.load_file = lambda _loader, path: read(path)  # type: ignore[method-assign, assignment]
    Loader.list_available_services = listed_once  # type: ignore[method-assign, assignment]
