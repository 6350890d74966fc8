"""Times that AWS does not promise: measured priors, each with where it comes from.

They stand in until an account has a history of its own. P50 is what to expect, P90 what to promise.
"""

from __future__ import annotations

from rewarm.domain.model import BLOCK_BYTES, MIB

CREATE_P50_SECONDS = 10
CREATE_P90_SECONDS = 60
"""Measured prior: CreateVolume until `available`; seconds, though botocore's waiter allows for 10 minutes."""

ATTACH_P50_SECONDS = 5
ATTACH_P90_SECONDS = 30
"""Measured prior: AttachVolume until `attached`."""

DELIVERY_P50_SECONDS = 5
DELIVERY_P90_SECONDS = 60
"""Measured prior: SendCommand until the agent reads, with the download of a binary of less than 1 MiB."""

FIRST_TOUCH_MEAN_SECONDS = 0.091
"""Measured prior: 11 random 4 KiB reads a second at depth 1 right after a restore (gp3, published 2025)."""
FIRST_TOUCH_CONCURRENCY = 64
"""Measured prior: fetches of one volume from S3 that proceed side by side."""
FIRST_TOUCH_MIB_S = FIRST_TOUCH_CONCURRENCY * (BLOCK_BYTES / MIB) / FIRST_TOUCH_MEAN_SECONDS
"""What S3 gives one volume: 64 x 0.5 MiB / 91 ms = 352 MiB/s."""
FIRST_TOUCH_P90_FACTOR = 1.5
"""Measured prior: AWS says that the default rate "fluctuates"; a bad day takes half as long again."""

METRIC_DELAY_P50_SECONDS = 120
METRIC_DELAY_P90_SECONDS = 300
"""Measured prior: from the agent's end to the datapoint of a whole quiet minute (AWS names no delay)."""

STATUS_DELAY_P50_SECONDS = 120
STATUS_DELAY_P90_SECONDS = 300
"""DescribeVolumeStatus lags by "up to 5 minutes" (EBS user guide, "Monitor the status of initialization")."""

VERIFY_P50_SECONDS = 10
VERIFY_P90_SECONDS = 60
"""Measured prior: delivery of the command and 256 reads of a millisecond or two."""

RATE_DELIVERED_P90 = 0.9
"""EBS user guide, "Provisioned Rate": average within 10 % of the rate, 99 % of the time."""

FSR_OPTIMIZING_SECONDS_PER_TIB = 3_600
"""EBS user guide, "View fast snapshot restore": 60 minutes per TiB."""
FSR_P90_FACTOR = 1.1
"""Measured prior: that figure is no promise."""
FSR_POLL_SECONDS = 60
"""The credit metric comes by the minute."""

BACKGROUND_P50_SECONDS_PER_TIB = 8 * 3_600
BACKGROUND_P90_SECONDS_PER_TIB = 24 * 3_600
"""Measured prior: 100 GiB were back at full speed within 24 hours (published 2025), "unpredictable" says AWS.

Applied to each TiB of data, and at least once.
"""
