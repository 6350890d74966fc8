#ifndef WARMER_NVME_LOG_H
#define WARMER_NVME_LOG_H

#include <stdbool.h>
#include <stdint.h>

#define NVME_LOG_BYTES 4096u
#define NVME_LOG_BINS 64u

/** How many reads or writes took between two latencies. */
struct nvme_bin {
    uint64_t lower_us;
    uint64_t upper_us;
    uint32_t count;
};

struct nvme_histogram {
    unsigned length;
    struct nvme_bin bins[NVME_LOG_BINS];
};

/** What an EBS volume counts since it was attached: log page 0xD0, "NVMe detailed performance statistics". */
struct nvme_log {
    uint64_t read_operations;
    uint64_t write_operations;
    uint64_t read_bytes;
    uint64_t write_bytes;
    uint64_t read_us;
    uint64_t write_us;
    uint64_t volume_iops_exceeded_us;
    uint64_t volume_throughput_exceeded_us;
    uint64_t instance_iops_exceeded_us;
    uint64_t instance_throughput_exceeded_us;
    uint64_t queue_length;
    struct nvme_histogram reads;
    struct nvme_histogram writes;
};

/** Decode a page. Returns false if it is not one of EBS's or contradicts itself. */
bool nvme_log_parse(const uint8_t *page, uint32_t bytes, struct nvme_log *log);

#endif
