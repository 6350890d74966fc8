"""The path from the instance's subnet to S3 and Systems Manager, as EC2 describes it; nothing is sent.

IPv4 only. VPC user guide, "Configure route tables"; AWS PrivateLink guide, "Gateway endpoints for Amazon S3";
Systems Manager user guide, "Improve the security of EC2 instances by using VPC endpoints".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rewarm_cli.doctor.account import Account
from rewarm_cli.doctor.findings import OK, UNKNOWN, Finding, ok, problem, unknown, warning
from rewarm_cli.doctor.reach import instance as instances
from rewarm_cli.doctor.reach import rules

Json = dict[str, Any]

SERVICES = ("ssm", "ssmmessages")
"""What the SSM agent calls; ec2messages is for old agents."""
GATES = (
    "NatGatewayId",
    "GatewayId",
    "TransitGatewayId",
    "NetworkInterfaceId",
    "InstanceId",
    "VpcPeeringConnectionId",
    "LocalGatewayId",
    "CarrierGatewayId",
    "CoreNetworkArn",
)
TRY_IT = "run with --on-instance, which tries it"
ADD_S3 = "add an endpoint for S3 (a gateway endpoint costs nothing), or a route to a NAT gateway"
ADD_SSM = "add interface endpoints for ssm and ssmmessages, or a route to a NAT gateway"
WHAT = "that S3 and Systems Manager are"


def path(account: Account) -> Iterator[Finding]:
    """Routes and endpoints for S3 and Systems Manager."""
    instance = instances.described(account)
    if instance is None:
        return
    if "SubnetId" not in instance:
        yield unknown("subnet", "EC2 names none for the instance", TRY_IT)
        return
    table = _route_table(account, instance)
    wanted = _is("vpc-id", instance["VpcId"])
    endpoints = account.pages("ec2", "DescribeVpcEndpoints", "VpcEndpoints", Filters=[wanted])
    way_out = _way_out(table, has_address="PublicIpAddress" in instance)
    yield way_out
    yield _to_s3(account, table, endpoints, way_out)
    yield from _to_systems_manager(account, instance, endpoints, way_out)


def security_groups(account: Account) -> Iterator[Finding]:
    """Whether security groups let HTTPS out."""
    instance = instances.described(account)
    if instance is None or not instance.get("SecurityGroups"):
        return
    ids = [group["GroupId"] for group in instance["SecurityGroups"]]
    named = ", ".join(ids)
    targets = rules.group_targets(_groups(account, ids))
    if rules.EVERYWHERE in targets:
        yield ok("security groups", f"{named}: HTTPS out to everywhere")
    elif targets:
        todo = f"see {WHAT} among these (S3 by its prefix list)"
        yield warning("security groups", f"{named}: HTTPS out to {', '.join(targets)} only", todo)
    else:
        yield problem("security groups", f"{named}: no HTTPS out", "allow TCP 443 out")


def network_acl(account: Account) -> Iterator[Finding]:
    """Whether it lets HTTPS out and the answers in: a network ACL is stateless."""
    instance = instances.described(account)
    if instance is None or "SubnetId" not in instance:
        return
    wanted = _is("association.subnet-id", instance["SubnetId"])
    for acl in account.pages("ec2", "DescribeNetworkAcls", "NetworkAcls", Filters=[wanted]):
        for egress, ports, what in ((True, rules.HTTPS, "HTTPS out"), (False, rules.RETURN, "answers in")):
            allowed, others = rules.acl_answer(acl["Entries"], egress=egress, ports=ports)
            yield _acl_finding(f"{acl['NetworkAclId']}: {what}", allowed=allowed, others=others)


def _acl_finding(found: str, *, allowed: bool, others: list[str]) -> Finding:
    named = ", ".join(others)
    if allowed and not others:
        return ok("network ACL", f"{found} is allowed")
    if allowed:
        return warning("network ACL", f"{found} is allowed, but not for {named}", f"see {WHAT} not there")
    if others:
        return warning("network ACL", f"{found} is allowed for {named} only", f"see {WHAT} there")
    return problem("network ACL", f"{found} is denied", "allow TCP 443 out, and TCP 1024 to 65535 in")


def _route_table(account: Account, instance: Json) -> Json:
    """The subnet's own route table, or the VPC's main one."""
    own = [_is("association.subnet-id", instance["SubnetId"])]
    main = [_is("vpc-id", instance["VpcId"]), _is("association.main", "true")]
    for filters in (own, main):
        found: list[Json] = account.pages("ec2", "DescribeRouteTables", "RouteTables", Filters=filters)
        if found:
            return found[0]
    return {"RouteTableId": "of no name", "Routes": []}


def _way_out(table: Json, *, has_address: bool) -> Finding:
    """Where the default route leads."""
    name = f"route table {table['RouteTableId']}"
    routes = [route for route in table["Routes"] if route.get("DestinationCidrBlock") == rules.EVERYWHERE]
    if not routes:
        return warning("way out", f"{name} has no route to 0.0.0.0/0", "nothing, if there are endpoints")
    gate = next((str(routes[0][key]) for key in GATES if routes[0].get(key)), "an unknown target")
    found = f"{name} leads to {gate}"
    if routes[0].get("State") == "blackhole":
        return problem("way out", f"{found}, which is gone", "mend the route to 0.0.0.0/0")
    if gate.startswith("igw-") and not has_address:
        todo = "give it one, or lead the route to a NAT gateway; nothing, if there are endpoints"
        return warning("way out", f"{found}, and the instance has no public address", todo)
    if gate.startswith(("nat-", "igw-")):
        return ok("way out", found)
    return unknown("way out", found, f"see where that leads; or {TRY_IT}")


def _to_s3(account: Account, table: Json, endpoints: list[Json], way_out: Finding) -> Finding:
    for endpoint in _of_service(account, endpoints, "s3"):
        is_here = table["RouteTableId"] in endpoint.get("RouteTableIds", [])
        is_private = endpoint.get("VpcEndpointType") == "Interface" and endpoint.get("PrivateDnsEnabled")
        if is_here or is_private:
            return _s3_endpoint(endpoint)
    if way_out.status == OK:
        return ok("to S3", "by the way out")
    if way_out.status == UNKNOWN:
        return unknown("to S3", "by the way out, wherever that leads", TRY_IT)
    return problem("to S3", "neither an endpoint in the route table nor a way out", ADD_S3)


def _s3_endpoint(endpoint: Json) -> Finding:
    name = f"{endpoint['VpcEndpointType']} endpoint {endpoint['VpcEndpointId']}"
    if _allows_all(endpoint.get("PolicyDocument")):
        return ok("to S3", name)
    todo = "see that it allows s3:GetObject and s3:PutObject on Rewarm's bucket"
    return warning("to S3", f"{name} has a policy of its own", todo)


def _allows_all(policy: str | None) -> bool:
    """Whether it is an endpoint's default policy: all actions, resources and callers."""
    if not policy:
        return True
    try:
        statements = json.loads(policy).get("Statement", [])
    except ValueError:
        return False
    listed = statements if isinstance(statements, list) else [statements]
    return [
        {name: statement[name] for name in sorted(statement) if name != "Sid"} for statement in listed
    ] == [{"Action": "*", "Effect": "Allow", "Principal": "*", "Resource": "*"}]


def _to_systems_manager(
    account: Account, instance: Json, endpoints: list[Json], way_out: Finding
) -> Iterator[Finding]:
    if instances.is_online(account):
        yield ok("to Systems Manager", "the instance is online there")
        return
    found = {service: _of_service(account, endpoints, service) for service in SERVICES}
    for service, listed in found.items():
        for endpoint in listed:
            yield _interface(account, instance, service, endpoint)
    missing = [service for service, listed in found.items() if not listed]
    if not missing:
        return
    if way_out.status == OK:
        yield ok("to Systems Manager", "by the way out")
    elif way_out.status == UNKNOWN:
        yield unknown("to Systems Manager", "by the way out, wherever that leads", way_out.todo)
    else:
        yield problem("to Systems Manager", f"no endpoint for {', '.join(missing)}, and no way out", ADD_SSM)


def _interface(account: Account, instance: Json, service: str, endpoint: Json) -> Finding:
    name = endpoint["VpcEndpointId"]
    check = f"to {service}"
    if not endpoint.get("PrivateDnsEnabled"):
        return warning(
            check, f"{name} has no private DNS name", "enable it, so that the agent finds the endpoint"
        )
    ids = [group["GroupId"] for group in endpoint.get("Groups", [])]
    callers = {group["GroupId"] for group in instance.get("SecurityGroups", [])}
    if ids and not rules.admits(_groups(account, ids), instance.get("PrivateIpAddress", ""), callers):
        todo = f"allow TCP 443 from the instance in {', '.join(ids)}"
        return problem(check, f"{name} does not let the instance in", todo)
    return ok(check, f"interface endpoint {name}")


def _of_service(account: Account, endpoints: list[Json], service: str) -> list[Json]:
    """Endpoints that work; in China their names have `cn.` before `com.amazonaws`."""
    return [
        endpoint
        for endpoint in endpoints
        if endpoint["ServiceName"].endswith(f".{account.region}.{service}")
        and endpoint.get("State", "").lower() == "available"
    ]


def _groups(account: Account, ids: list[str]) -> list[Json]:
    listed: list[Json] = account.ask("ec2", "DescribeSecurityGroups", GroupIds=ids)["SecurityGroups"]
    return listed


def _is(name: str, value: str) -> Json:
    return {"Name": name, "Values": [value]}
