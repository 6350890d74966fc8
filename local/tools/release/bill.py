"""The bill of materials (CycloneDX): every package that ships, and what the agent is linked with."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from local.tools.release.files import sha256

_PIN = re.compile(r"([a-z0-9._-]+)(?:\[.*?\])?==([^\s;\\]+)")
_MUSL_VERSION = Path("lib", "libc", "musl", "src", "internal", "version.h")


@dataclass(slots=True)
class Pin:
    """A package of a list in requirements/ or functions/, as uv compiled it."""

    version: str
    wanted_by: set[str] = field(default_factory=set)
    """Packages; a file is `-r FILE`."""


def pins(path: Path) -> dict[str, Pin]:
    """The packages of a list by name."""
    found: dict[str, Pin] = {}
    last = Pin("")
    for line in path.read_text(encoding="utf-8").splitlines():
        if pin := _PIN.match(line):
            last = found.setdefault(pin[1], Pin(pin[2]))
        elif "#" in line and found:
            last.wanted_by.add(line.partition("#")[2].strip().removeprefix("via").strip())
    return found


def needed(packages: Mapping[str, Pin], first: Iterable[str]) -> set[str]:
    """The first packages and all that they need."""
    found: set[str] = set()
    waiting = set(first)
    while waiting:
        found |= waiting
        waiting = {name for name, pin in packages.items() if pin.wanted_by & waiting} - found
    return found


@dataclass(frozen=True, slots=True)
class Release:
    """What the bill is of."""

    root: Path
    version: str
    epoch: int
    """Of the commit, in seconds."""
    agents: Mapping[str, bytes]
    wheel: Path
    zig: Path
    """The folder of the package ziglang."""


def bill(release: Release) -> str:
    """The bill as JSON of CycloneDX 1.6; the same for the same sources and files."""
    bom = Bom(serial_number=uuid5(NAMESPACE_URL, f"rewarm-{release.version}-{release.epoch}"))
    bom.metadata.timestamp = datetime.fromtimestamp(release.epoch, UTC)
    whole = _own("rewarm", release.version)
    bom.metadata.component = whole
    parts = [_functions(bom, release), _command(bom, release), *_agents(bom, release)]
    bom.register_dependency(whole, parts)
    text: str = JsonV1Dot6(bom).output_as_string(indent=2)
    return f"{text}\n"


def _own(
    name: str, version: str, hashes: Iterable[HashType] = (), purl: PackageURL | None = None
) -> Component:
    return Component(
        name=name,
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=name,
        licenses=[DisjunctiveLicense(id="Apache-2.0")],
        hashes=hashes,
        purl=purl,
    )


def _functions(bom: Bom, release: Release) -> Component:
    folder = release.root / "functions"
    packages = pins(folder / "requirements.txt") | pins(folder / "requirements-charts.txt")
    functions = _own("rewarm-functions", release.version)
    _register(bom, functions, packages, _direct(packages))
    return functions


def _command(bom: Bom, release: Release) -> Component:
    """The versions are those that it is tested with: its package takes newer ones, too."""
    project = tomllib.loads((release.root / "cli" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    first = [re.split(r"[<>=~!\[ ]", text)[0] for text in project["dependencies"]]
    packages = pins(release.root / "requirements" / "cli.txt")
    mine = {name: packages[name] for name in needed(packages, first)}
    command = _own(
        "rewarm-cli",
        release.version,
        purl=PackageURL("pypi", name="rewarm-cli", version=release.version),
        hashes=[_hash(release.wheel.read_bytes())],
    )
    _register(bom, command, mine, first)
    return command


def _direct(packages: Mapping[str, Pin]) -> list[str]:
    return [name for name, pin in packages.items() if any(by.startswith("-r ") for by in pin.wanted_by)]


def _register(bom: Bom, owner: Component, packages: Mapping[str, Pin], first: Iterable[str]) -> None:
    """Add the packages, and who needs whom."""
    there = {str(one.bom_ref.value): one for one in bom.components}
    by_name = {
        name: there.get(f"{name}=={pin.version}") or _python_package(name, pin.version)
        for name, pin in packages.items()
    }
    bom.components.update([owner, *by_name.values()])
    bom.register_dependency(owner, [by_name[name] for name in first])
    for name, component in by_name.items():
        bom.register_dependency(
            component, [by_name[one] for one, pin in packages.items() if name in pin.wanted_by]
        )


def _python_package(name: str, version: str) -> Component:
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=f"{name}=={version}",
        purl=PackageURL("pypi", name=name, version=version),
    )


def _agents(bom: Bom, release: Release) -> list[Component]:
    """Each binary with its C library. The compiler is named, too: its own run-time library is linked in."""
    compiler = pins(release.root / "requirements" / "deploy.txt")["ziglang"].version
    header = (release.zig / _MUSL_VERSION).read_text(encoding="utf-8")
    zig = Component(
        name="zig",
        version=compiler,
        type=ComponentType.APPLICATION,
        scope=ComponentScope.EXCLUDED,
        bom_ref=f"zig=={compiler}",
        description="Compiles and links the agent.",
        licenses=[DisjunctiveLicense(id="MIT")],
        purl=PackageURL("pypi", name="ziglang", version=compiler),
    )
    run_time = _linked("compiler-rt", compiler, "MIT", "Zig's run-time library, linked into every binary.")
    (version,) = re.findall(r'"([\d.]+)"', header)
    musl = _linked("musl", version, "MIT", f"The C library that zig {compiler} brings.")
    mingw = _linked("mingw-w64", None, "ZPL-2.1", f"The C library for Windows that zig {compiler} brings.")
    zstd = _linked("zstd", _zstd_version(release.root), "BSD-3-Clause", "The decoder in warmer/vendor/zstd.")
    bom.components.update([zig, run_time, musl, mingw, zstd])
    bom.register_dependency(run_time, [zig])
    made = []
    for name, content in release.agents.items():
        agent = _own(name, release.version, hashes=[_hash(content)])
        bom.components.add(agent)
        bom.register_dependency(agent, [mingw if "windows" in name else musl, run_time, zstd])
        made.append(agent)
    return made


def _zstd_version(root: Path) -> str:
    text = (root / "warmer" / "vendor" / "zstd" / "zstddeclib.c").read_text(encoding="utf-8")
    return ".".join(re.findall(r"#define ZSTD_VERSION_(?:MAJOR|MINOR|RELEASE) +(\d+)", text))


def _linked(name: str, version: str | None, license_id: str, description: str) -> Component:
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=name,
        description=description,
        licenses=[DisjunctiveLicense(id=license_id)],
    )


def _hash(content: bytes) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=sha256(content))
