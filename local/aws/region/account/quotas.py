"""Service Quotas of EBS that bound a restore (EBS user guide, "Quotas for Amazon EBS")."""

from __future__ import annotations

from local import Json
from local.aws.region.core import Core
from local.aws.region.errors import ApiError
from local.aws.region.filters import page
from local.aws.region.operations import operation

SERVICE_CODE = "ebs"


class Quotas:
    """GetServiceQuota and ListServiceQuotas."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @operation("service-quotas", "GetServiceQuota")
    def get_service_quota(self, params: Json) -> Json:
        """One quota, or NoSuchResourceException."""
        for quota in self._quotas():
            if (quota["ServiceCode"], quota["QuotaCode"]) == (params["ServiceCode"], params["QuotaCode"]):
                return {"Quota": quota}
        raise ApiError("NoSuchResourceException", "The specified quota does not exist.")

    @operation("service-quotas", "ListServiceQuotas")
    def list_service_quotas(self, params: Json) -> Json:
        """Every modelled quota of a service."""
        if params["ServiceCode"] != SERVICE_CODE:
            raise ApiError("NoSuchResourceException", "The specified service does not exist.")
        code = params.get("QuotaCode")
        rows = [quota for quota in self._quotas() if code in (None, quota["QuotaCode"])]
        try:
            rows, token = page(rows, params, scope="quotas", high=100)
        except ApiError as error:
            raise ApiError("InvalidPaginationTokenException", "Invalid token was used.") from error
        return {"Quotas": rows, "NextToken": token}

    def _quotas(self) -> list[Json]:
        settings = self._core.settings
        return [
            self._quota("L-631ECBD3", "Fast snapshot restore", settings.fast_restore_quota),
            self._quota(
                "L-A37D9CF3",
                "Cumulative volume initialization rate (MiB/s) of concurrent volume creation requests",
                settings.initialization_rate_quota_mib_s,
            ),
            self._quota("L-39BD5252", "Concurrent volume copies", settings.volume_copies_quota),
            *self._direct_apis(),
        ]

    def _direct_apis(self) -> list[Json]:
        """Requests a second. Only those of GetSnapshotBlock by account are adjustable."""
        settings = self._core.settings
        rates = settings.direct_requests_per_second
        fixed = [
            self._quota(code, f"{operation} requests per account", rates[operation])
            for code, operation in (("L-18E976AB", "ListSnapshotBlocks"), ("L-DB2FBAA1", "ListChangedBlocks"))
        ]
        name = "GetSnapshotBlock requests per"
        fixed.append(self._quota("L-028ACFB9", f"{name} snapshot", settings.get_block_snapshot_per_second))
        own = self._quota("L-C125AE42", f"{name} account", rates["GetSnapshotBlock"])
        return [own, *({**quota, "Adjustable": False} for quota in fixed)]

    def _quota(self, code: str, name: str, value: float) -> Json:
        return {
            "ServiceCode": SERVICE_CODE,
            "ServiceName": "Amazon Elastic Block Store (Amazon EBS)",
            "QuotaArn": self._core.arn(f"{SERVICE_CODE}/{code}", "servicequotas"),
            "QuotaCode": code,
            "QuotaName": name,
            "Value": value,
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
            "QuotaAppliedAtLevel": "ACCOUNT",
        }
