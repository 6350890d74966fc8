/** EBS's statistics page. */
#include "device/nvme_log.h"
#include "fuzz_target.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct nvme_log log;
    if (nvme_log_parse(data, (uint32_t)bytes, &log) &&
        (log.reads.length > NVME_LOG_BINS || log.writes.length > NVME_LOG_BINS)) {
        abort();
    }
    return 0;
}
