#ifndef WARMER_NVME_REPORT_H
#define WARMER_NVME_REPORT_H

#include "base/json.h"
#include "device/nvme_log.h"

/** Write the member "nvmeStatistics" of a report; null if `log` is NULL. */
void nvme_report_put(struct json *json, const struct nvme_log *log);

#endif
