"""EBS figures of some instance types (EC2 user guide, "EBS-optimized instance types"; botocore EbsInfo).

The figures are AWS's published ones; a Region takes other types by `add_instance_type`.
"""

from __future__ import annotations

from dataclasses import dataclass

from local import Json


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One type's bandwidth to EBS."""

    name: str
    architecture: str
    vcpus: int
    memory_mib: int
    baseline_mbps: int
    maximum_mbps: int
    baseline_iops: int
    maximum_iops: int
    maximum_attachments: int = 28
    dedicated_attachments: bool = False
    nvme: bool = True
    """False for Xen, where the guest sees no volume ids (EC2 user guide, "Amazon EBS and NVMe")."""
    cards: int = 1
    """EBS cards; each has an equal part of the bandwidth."""
    real_attachments: int | None = None
    """Where EC2 refuses a volume before `maximum_attachments` (release notes of aws-ebs-csi-driver v1.57)."""

    def describe(self) -> Json:
        """Shape InstanceTypeInfo of botocore, as far as EBS is concerned."""
        return {
            "InstanceType": self.name,
            "CurrentGeneration": True,
            "Hypervisor": "nitro" if self.nvme else "xen",
            "BareMetal": False,
            "ProcessorInfo": {"SupportedArchitectures": [self.architecture]},
            "VCpuInfo": {"DefaultVCpus": self.vcpus},
            "MemoryInfo": {"SizeInMiB": self.memory_mib},
            "EbsInfo": {
                "EbsOptimizedSupport": "default",
                "EncryptionSupport": "supported",
                "NvmeSupport": "required" if self.nvme else "unsupported",
                "MaximumEbsAttachments": self.maximum_attachments,
                "AttachmentLimitType": "dedicated" if self.dedicated_attachments else "shared",
                "EbsOptimizedInfo": self._performance(1),
                **(self._cards() if self.cards > 1 else {}),
            },
        }

    def _cards(self) -> Json:
        each = [{"EbsCardIndex": card, **self._performance(self.cards)} for card in range(self.cards)]
        return {"MaximumEbsCards": self.cards, "EbsCards": each}

    def _performance(self, parts: int) -> Json:
        return {
            "BaselineBandwidthInMbps": self.baseline_mbps // parts,
            "BaselineThroughputInMBps": self.baseline_mbps / 8 / parts,
            "BaselineIops": self.baseline_iops // parts,
            "MaximumBandwidthInMbps": self.maximum_mbps // parts,
            "MaximumThroughputInMBps": self.maximum_mbps / 8 / parts,
            "MaximumIops": self.maximum_iops // parts,
        }


INSTANCE_TYPES = {
    one.name: one
    for one in (
        InstanceType("t3.micro", "x86_64", 2, 1_024, 87, 2_085, 500, 11_800),
        InstanceType("t3.medium", "x86_64", 2, 4_096, 347, 2_085, 2_000, 11_800),
        InstanceType("m5.large", "x86_64", 2, 8_192, 650, 4_750, 3_600, 18_750),
        InstanceType("m5.xlarge", "x86_64", 4, 16_384, 1_150, 4_750, 6_000, 18_750),
        InstanceType("m5.4xlarge", "x86_64", 16, 65_536, 4_750, 4_750, 18_750, 18_750),
        InstanceType("m6i.large", "x86_64", 2, 8_192, 650, 10_000, 3_600, 40_000),
        InstanceType("m6i.xlarge", "x86_64", 4, 16_384, 1_250, 10_000, 6_000, 40_000),
        InstanceType("m6g.large", "arm64", 2, 8_192, 630, 4_750, 3_600, 20_000),
        InstanceType("c4.large", "x86_64", 2, 3_840, 500, 500, 4_000, 4_000, nvme=False),
        InstanceType("r5.large", "x86_64", 2, 16_384, 650, 4_750, 3_600, 18_750),
        InstanceType(
            "m8gn.48xlarge", "arm64", 192, 786_432, 120_000, 120_000, 480_000, 480_000,
            maximum_attachments=128, dedicated_attachments=True, cards=2, real_attachments=64,
        ),
    )
}  # fmt: skip
