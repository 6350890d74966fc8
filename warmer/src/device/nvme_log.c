/** EBS's statistics page (Amazon EBS User Guide, "Amazon EBS detailed performance statistics"). Pure. */
#include "device/nvme_log.h"

#include "base/bytes.h"

#define MAGIC 0x3c23b510u
#define READS_AT 512u
#define BIN_BYTES 24u
#define HISTOGRAM_BYTES (8u + NVME_LOG_BINS * BIN_BYTES)

static bool parse_histogram(const uint8_t *at, struct nvme_histogram *histogram) {
    uint64_t length = little64(at);
    if (length > NVME_LOG_BINS) {
        return false;
    }
    histogram->length = (unsigned)length;
    for (unsigned i = 0; i < histogram->length; i++) {
        const uint8_t *bin = at + 8 + (uint32_t)i * BIN_BYTES;
        histogram->bins[i] = (struct nvme_bin){little64(bin), little64(bin + 8), little32(bin + 16)};
    }
    return true;
}

bool nvme_log_parse(const uint8_t *page, uint32_t bytes, struct nvme_log *log) {
    if (bytes < NVME_LOG_BYTES || little32(page) != MAGIC) {
        return false;
    }
    *log = (struct nvme_log){
        .read_operations = little64(page + 8),
        .write_operations = little64(page + 16),
        .read_bytes = little64(page + 24),
        .write_bytes = little64(page + 32),
        .read_us = little64(page + 40),
        .write_us = little64(page + 48),
        .volume_iops_exceeded_us = little64(page + 56),
        .volume_throughput_exceeded_us = little64(page + 64),
        .instance_iops_exceeded_us = little64(page + 72),
        .instance_throughput_exceeded_us = little64(page + 80),
        .queue_length = little64(page + 88),
    };
    return parse_histogram(page + READS_AT, &log->reads) &&
           parse_histogram(page + READS_AT + HISTOGRAM_BYTES, &log->writes);
}
