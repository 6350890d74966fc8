"""The dashboard and the alarms of template.yaml as CloudWatch would have them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
_SEARCH = re.compile(
    r"SEARCH\('\{(?P<namespace>[^,}]+),(?P<dimensions>[^}]+)\} MetricName=\"(?P<name>\w+)\""
    r"(?P<terms>[^']*)', '(?P<stat>\w+)', (?P<period>\d+)\)"
)
_TERM = re.compile(r'\s+(\w+)="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Wanted:
    """A metric that a widget or an alarm shows; `None` where any value of the dimension will do."""

    where: str
    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str | None]]

    def is_met_by(self, namespace: str, name: str, dimensions: frozenset[tuple[str, str]]) -> bool:
        """CloudWatch knows a metric by exactly these names: one more or one less is another metric."""
        found, asked = dict(dimensions), dict(self.dimensions)
        return (
            (namespace, name, set(found)) == (self.namespace, self.name, set(asked))
            and all(value in (None, found[key]) for key, value in asked.items())
        )  # fmt: skip


def body(properties: Json, values: Mapping[str, str]) -> Json:
    """The dashboard's body, with every `${Name}` filled in; KeyError names one that is not known."""
    text, more = properties["DashboardBody"]["Fn::Sub"]
    # With all parts of the stack.
    known = {**values, **{name: _filled(one["Fn::If"][1]["Fn::Sub"], values) for name, one in more.items()}}
    text = _filled(text, known)
    parsed: Json = json.loads(text)
    return parsed


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$\{([^}]+)\}", lambda match: values[match[1]], text)


def shown(the_body: Json) -> Iterator[Wanted]:
    """Every metric of every widget."""
    for widget in the_body["widgets"]:
        properties = widget["properties"]
        for one in properties.get("metrics", []):
            yield (
                _searched(properties["title"], one[0])
                if isinstance(one[0], dict)
                else _named(properties["title"], one)
            )


def watched(alarms: Mapping[str, Json], values: Mapping[str, str]) -> Iterator[Wanted]:
    """Every metric of every alarm."""
    for name, alarm in alarms.items():
        dimensions = frozenset((one["Name"], _resolved(one["Value"], values)) for one in alarm["Dimensions"])
        yield Wanted(name, alarm["Namespace"], alarm["MetricName"], dimensions)


def _named(where: str, one: list[Any]) -> Wanted:
    words = [word for word in one if isinstance(word, str)]
    assert len(words) % 2 == 0, f"{where}: {one} is not namespace, name, and pairs of dimension and value"
    pairs = zip(words[2::2], words[3::2], strict=True)
    return Wanted(where, words[0], words[1], frozenset(pairs))


def _searched(where: str, one: Json) -> Wanted:
    found = _SEARCH.fullmatch(one["expression"])
    assert found is not None, f"{where}: {one['expression']} is not a search that this test understands"
    terms = dict(_TERM.findall(found["terms"]))
    names = found["dimensions"].split(",")
    assert set(terms) <= set(names), where
    return Wanted(where, found["namespace"], found["name"], frozenset((one, terms.get(one)) for one in names))


def _resolved(value: Any, values: Mapping[str, str]) -> str:
    if isinstance(value, str):
        return value
    if "Fn::GetAtt" in value:
        return values[".".join(value["Fn::GetAtt"])]
    return values[value["Ref"]]
