"""Parameter Store, read only: GetParameter and GetParameters for seeded parameters (botocore ssm)."""

from __future__ import annotations

from dataclasses import dataclass

from local import Json
from local.aws.region.core import Core, stamp
from local.aws.region.errors import ApiError
from local.aws.region.operations import operation


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `kind` is String, StringList or SecureString."""

    name: str
    value: str
    kind: str
    changed: float


class Parameters:
    """Seeded parameters by name."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._known: dict[str, Parameter] = {}

    def add(self, name: str, value: str, kind: str = "String") -> None:
        """Put a parameter into the Region, or change it."""
        self._known[name] = Parameter(name, value, kind, self._core.now())

    @operation("ssm", "GetParameter")
    def get_parameter(self, params: Json) -> Json:
        """One parameter, or ParameterNotFound."""
        found = self._known.get(params["Name"])
        if found is None:
            raise ApiError("ParameterNotFound", f"Parameter {params['Name']} not found.")
        return {"Parameter": self._describe(found, decrypted=bool(params.get("WithDecryption")))}

    @operation("ssm", "GetParameters")
    def get_parameters(self, params: Json) -> Json:
        """Several parameters; unknown names are listed, not refused."""
        decrypted = bool(params.get("WithDecryption"))
        found = [self._known[name] for name in params["Names"] if name in self._known]
        return {
            "Parameters": [self._describe(one, decrypted=decrypted) for one in found],
            "InvalidParameters": [name for name in params["Names"] if name not in self._known],
        }

    def _describe(self, one: Parameter, *, decrypted: bool) -> Json:
        hidden = one.kind == "SecureString" and not decrypted
        return {
            "Name": one.name,
            "Type": one.kind,
            "Value": "AQICAHencrypted" if hidden else one.value,
            "Version": 1,
            "LastModifiedDate": stamp(one.changed),
            "ARN": self._core.arn(f"parameter/{one.name.lstrip('/')}", "ssm"),
            "DataType": "text",
        }
