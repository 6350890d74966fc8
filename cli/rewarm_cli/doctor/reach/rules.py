"""What security groups and network ACLs say of HTTPS (VPC user guide)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Any

Json = dict[str, Any]

HTTPS = (443, 443)
RETURN = (49_152, 60_999)
"""The ports that answers use on both Linux (32768 to 60999) and Windows (49152 to 65535)."""
EVERYWHERE = "0.0.0.0/0"
ALL, TCP = "-1", ("6", "tcp")


def covers(rule: Json, protocol: str, ports: tuple[int, int], of: tuple[Any, Any]) -> bool:
    """Whether the rule covers all of these TCP ports; `of` are its own, None for all."""
    if protocol == ALL:
        return True
    first, last = of
    return protocol in TCP and (first is None or first <= ports[0]) and (last is None or last >= ports[1])


def group_targets(groups: Iterable[Json]) -> list[str]:
    """Where security groups let HTTPS out to: networks, prefix lists and groups."""
    found: list[str] = []
    for group in groups:
        for rule in group.get("IpPermissionsEgress", []):
            if covers(rule, rule["IpProtocol"], HTTPS, (rule.get("FromPort"), rule.get("ToPort"))):
                found += _named(rule)
    return list(dict.fromkeys(found))


def admits(groups: Iterable[Json], address: str, callers: set[str]) -> bool:
    """Whether security groups let HTTPS in from an address, or from one of these groups."""
    for group in groups:
        for rule in group.get("IpPermissions", []):
            if not covers(rule, rule["IpProtocol"], HTTPS, (rule.get("FromPort"), rule.get("ToPort"))):
                continue
            networks = [allowed["CidrIp"] for allowed in rule.get("IpRanges", [])]
            if any(_holds(network, address) for network in networks):
                return True
            if callers & {pair.get("GroupId", "") for pair in rule.get("UserIdGroupPairs", [])}:
                return True
    return False


def acl_answer(entries: Sequence[Json], *, egress: bool, ports: tuple[int, int]) -> tuple[bool, list[str]]:
    """Whether everywhere is allowed, and the networks that an earlier rule treats differently.

    The rule with the lowest number that fits decides, and what no rule covers is denied.
    """
    narrow: list[tuple[str, bool]] = []
    for entry in sorted(entries, key=lambda entry: entry["RuleNumber"]):
        if entry["Egress"] is not egress or "CidrBlock" not in entry:
            continue
        span = entry.get("PortRange") or {}
        allows = entry["RuleAction"] == "allow"
        if not _touches(entry, ports, span) or (allows and not _covers_entry(entry, ports, span)):
            continue
        if entry["CidrBlock"] == EVERYWHERE:
            return allows, [network for network, allowed in narrow if allowed is not allows]
        narrow.append((entry["CidrBlock"], allows))
    return False, [network for network, allowed in narrow if allowed]


def _covers_entry(entry: Json, ports: tuple[int, int], span: Json) -> bool:
    return covers(entry, entry["Protocol"], ports, (span.get("From"), span.get("To")))


def _touches(entry: Json, ports: tuple[int, int], span: Json) -> bool:
    if entry["Protocol"] == ALL:
        return True
    first = span.get("From", 0)
    last = span.get("To", 65_535)
    return entry["Protocol"] in TCP and first <= ports[1] and last >= ports[0]


def _named(rule: Json) -> list[str]:
    networks = [allowed["CidrIp"] for allowed in rule.get("IpRanges", [])]
    networks += [allowed["CidrIpv6"] for allowed in rule.get("Ipv6Ranges", [])]
    lists = [listed["PrefixListId"] for listed in rule.get("PrefixListIds", [])]
    return (
        networks + lists + [pair["GroupId"] for pair in rule.get("UserIdGroupPairs", []) if "GroupId" in pair]
    )


def _holds(network: str, address: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
