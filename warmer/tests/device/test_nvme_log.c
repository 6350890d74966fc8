#include "check.h"
#include "device/nvme_log.h"

/** A page as a volume would answer it: each counter its own number. */
static uint8_t page[NVME_LOG_BYTES];

static void put(uint32_t at, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) {
        page[at + i] = (uint8_t)(value >> (8 * i));
    }
}

static void make_page(uint64_t read_bins, uint64_t write_bins) {
    memset(page, 0, sizeof page);
    put(0, 0x3c23b510, 4);
    for (unsigned i = 0; i < 11; i++) {
        put(8 + 8 * i, 1000 + i, 8);
    }
    put(512, read_bins, 8);
    put(2056, write_bins, 8);
    for (unsigned i = 0; i < 64; i++) {
        put(520 + 24 * i, i * 100, 8);
        put(528 + 24 * i, i * 100 + 99, 8);
        put(536 + 24 * i, i + 1, 4);
        put(2064 + 24 * i + 16, 1000 + i, 4);
    }
}

static void every_counter_is_where_it_is_documented(void) {
    struct nvme_log log;
    make_page(64, 2);
    CHECK(nvme_log_parse(page, sizeof page, &log));
    CHECK_EQ(log.read_operations, 1000);
    CHECK_EQ(log.write_operations, 1001);
    CHECK_EQ(log.read_bytes, 1002);
    CHECK_EQ(log.write_bytes, 1003);
    CHECK_EQ(log.read_us, 1004);
    CHECK_EQ(log.write_us, 1005);
    CHECK_EQ(log.volume_iops_exceeded_us, 1006);
    CHECK_EQ(log.volume_throughput_exceeded_us, 1007);
    CHECK_EQ(log.instance_iops_exceeded_us, 1008);
    CHECK_EQ(log.instance_throughput_exceeded_us, 1009);
    CHECK_EQ(log.queue_length, 1010);
    CHECK_EQ(log.reads.length, 64);
    CHECK_EQ(log.reads.bins[63].lower_us, 6300);
    CHECK_EQ(log.reads.bins[63].upper_us, 6399);
    CHECK_EQ(log.reads.bins[63].count, 64);
    CHECK_EQ(log.writes.length, 2);
    CHECK_EQ(log.writes.bins[1].count, 1001);
}

static void other_pages_are_refused(void) {
    struct nvme_log log;
    make_page(64, 64);
    CHECK(!nvme_log_parse(page, sizeof page - 1, &log));
    page[0]++;
    CHECK(!nvme_log_parse(page, sizeof page, &log));
    make_page(65, 0);
    CHECK(!nvme_log_parse(page, sizeof page, &log));
    make_page(0, UINT64_MAX);
    CHECK(!nvme_log_parse(page, sizeof page, &log));
    make_page(0, 0);
    CHECK(nvme_log_parse(page, sizeof page, &log));
}

int main(void) {
    RUN(every_counter_is_where_it_is_documented);
    RUN(other_pages_are_refused);
    return CHECK_RESULT();
}
