"""boto3 clients with the time limits and retries that suit a Lambda inside a state machine.

boto3 tries only a few times: the long waiting is done by Step Functions, which costs nothing while it waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import IO, Any

import boto3
from botocore import session
from botocore.config import Config
from botocore.loaders import JSONFileLoader, Loader
from pydantic_core import from_json

from rewarm import __version__, adapters

ATTEMPTS = 3
CONNECT_SECONDS = 4
READ_SECONDS = 15
MODELS = Path(__file__).with_name("models")
"""Where botocore looks first: its models of the services that most cold starts call, with just the operations
that an adapter calls. `make models` writes them."""

_QUICK = {
    "retries": {"mode": "standard", "total_max_attempts": 2},
    "connect_timeout": 2,
    "read_timeout": 5,
}
_PRICE_LIST_REGION = "us-east-1"
"""The Price List Query API has few endpoints, and each answers for every Region (botocore endpoints)."""


class _ModelFiles(JSONFileLoader):
    """Reads a model into plain dictionaries; botocore makes ordered ones, which takes twice as long."""

    def _load_file(self, full_path: str, open_method: Callable[[str, str], IO[bytes]]) -> Any:
        if not Path(full_path).is_file():
            return None
        with open_method(full_path, "rb") as file:
            return from_json(file.read())


class _Models(Loader):
    """Finds a service's model by its folder's name; botocore looks into the folders of all services first."""

    def list_available_services(self, type_name: str) -> list[str]:
        """All services that have a folder, whether it has this type of model or not."""
        del type_name
        return [
            folder.name for path in self.search_paths if Path(path).is_dir() for folder in os.scandir(path)
        ]


def config(**options: Any) -> Config:
    """Settings of botocore; `options` win."""
    return Config(
        **{
            "retries": {"mode": "standard", "total_max_attempts": ATTEMPTS},
            "connect_timeout": CONNECT_SECONDS,
            "read_timeout": READ_SECONDS,
            "user_agent_extra": f"rewarm/{__version__}",
            **options,
        }
    )


def _made(service: str, **options: Any) -> Any:
    """All clients share a session, which reads what they have in common once."""
    if boto3.DEFAULT_SESSION is None:
        own = session.get_session()
        own.register_component("data_loader", _Models([str(MODELS)], _ModelFiles()))
        boto3.setup_default_session(botocore_session=own)
    return boto3.client(service, **options)  # type: ignore[call-overload]


class _Later:
    """Makes a client at its first call; one thread at a time makes one."""

    _making = Lock()

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        with self._making:
            client = self._make()
        return getattr(client, name)


def later(make: Callable[[], Any]) -> Any:
    """A client that few cold starts call: to read its model takes up to 30 ms. `make` is cached."""
    return _Later(make)


def client(service: str, region: str | None = None) -> Any:
    """A client of the function's own Region, or of another one; typed where it is taken."""
    return _made(service, config=config(), **_in(region))


def _in(region: str | None) -> dict[str, str]:
    return {} if region is None else {"region_name": region}


def client_that_tries_once(service: str) -> Any:
    """For calls that must not be made twice if only their answer is lost."""
    once = config(retries={"mode": "standard", "total_max_attempts": 1})
    return _made(service, config=once)


def quick_client(service: str) -> Any:
    """For looks that only help: it gives up soon, so that nothing waits long for what it can do without."""
    return _made(service, config=config(**_QUICK))


def s3_client(**options: Any) -> Any:
    """A client that signs with version 4 for the bucket's host in its Region.

    Newer Regions and KMS-encrypted objects accept no other signature. botocore's default is the global host.
    Regions opened after 20 March 2019 refuse it, and in other Regions than us-east-1 it redirects during a
    bucket's first day. A presigned URL does not survive that, because the host is signed.

    Bodies are not signed, as those with a checksum at their end are not: TLS and the checksum protect them.
    """
    host = {"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"}
    own = {"signature_version": "s3v4", "s3": {**host, "payload_signing_enabled": False}}
    return _made("s3", config=config(**own, **options))


def quick_s3_client() -> Any:
    """As `quick_client`."""
    return s3_client(**_QUICK)


def price_list_client() -> Any:
    """Gives up soon: without an answer the shipped prices do."""
    return _made("pricing", region_name=_PRICE_LIST_REGION, config=config(**_QUICK))


def block_list_client(threads: int, region: str | None = None) -> Any:
    """As `block_client`, for lists of which only the indices are needed."""
    ebs = block_client(threads, region)
    ebs.meta.events.register("before-parse.ebs.ListSnapshotBlocks", adapters.snapshot_blocks.keep_indices)
    return ebs


def block_client(threads: int, region: str | None = None) -> Any:
    """One connection for each thread that asks for blocks; trying again and the pace are theirs."""
    once = {"mode": "standard", "total_max_attempts": 1}
    return _made("ebs", config=config(max_pool_connections=threads, retries=once), **_in(region))
