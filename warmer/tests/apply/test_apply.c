/**
 * The limits of an application, in virtual time: what is written and read back keeps a rate, and a small read
 * beside it keeps its latency. The threads that fetch blocks take real time, and where they are slow the
 * device only has less to do: what is checked here are limits from above.
 */
#include "apply/apply.h"
#include "check.h"
#include "device/device.h"
#include "engine_fake.h"
#include "system/clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 160u
#define VOLUME_BYTES (BLOCKS * (uint64_t)BLOCK_BYTES)
#define WINDOW_NS (5 * NS_PER_SECOND)
#define MS NS_PER_MILLISECOND
#define MIB 1048576.0

static struct fake_engine fake;
static double bytes_per_ns, moved_ns;
static uint64_t idle_ns;

/** Of the run: who is asked for others, and what came of it. */
static int (*watch)(void *context, struct diag *diag);
static bool (*count_writes)(void *context, uint64_t *bytes);
static struct diag told;
static atomic_uint looks;
static bool is_waiting; /**< Once something is written, until somebody was looked for. */

static struct fake_reply quick(const struct engine_read *transfer, unsigned nth) {
    (void)nth;
    return (struct fake_reply){(int32_t)transfer->length_bytes, MS};
}

/** First in, first out, at a fixed rate, and half a millisecond to get there. */
static struct fake_reply throttled(const struct engine_read *transfer, unsigned nth) {
    (void)nth;
    double now_ns = (double)fake_now_ns();
    moved_ns = (moved_ns > now_ns ? moved_ns : now_ns) + transfer->length_bytes / bytes_per_ns;
    return (struct fake_reply){(int32_t)transfer->length_bytes, (uint64_t)(moved_ns - now_ns) + MS / 2};
}

static bool is_interrupted(void) {
    return false;
}

/** Virtual time passes while the device has nothing to do, too; the other threads get a moment of real time.
 */
static void between_turns(void *context, const struct warm_progress *progress) {
    const struct timespec moment = {0, 50000};
    (void)context;
    (void)progress;
    if (fake.in_flight == 0) {
        fake_pass(idle_ns);
    }
    do {
        nanosleep(&moment, NULL);
    } while (is_waiting && fake.submitted > 0 && looks == 0);
}

static void write_manifest(int descriptor) {
    char text[1000];
    char sum[SHA256_TEXT];
    uint8_t digest[SHA256_BYTES];
    int length = snprintf(text, sizeof text,
                          "{\"format\":\"rewarm-delta-1\",\"part\":0,\"volumeId\":\"vol-0123456789abcdef0\","
                          "\"snapshotId\":\"snap-0123456789abcdef0\",\"volumeBytes\":%llu,"
                          "\"blockBytes\":%u}\n{\"zeros\":0,\"count\":%u}\n",
                          (unsigned long long)VOLUME_BYTES, BLOCK_BYTES, BLOCKS);
    sha256(text, (size_t)length, digest);
    sha256_print(digest, sum);
    length +=
        snprintf(text + length, sizeof text - (size_t)length,
                 "{\"end\":true,\"packs\":0,\"blocks\":%u,\"sha256\":\"%s\",\"next\":null}\n", BLOCKS, sum);
    CHECK_EQ(write(descriptor, text, (size_t)length), length);
}

static int agree(void *context, struct diag *diag) {
    (void)context, (void)diag;
    return 0;
}

/** Write zeros to each block of the scripted device; what it is read back is zeros, too. */
static int apply(double max_mib_s, double polite_latency_ms, struct apply_result *result) {
    char path[] = "/tmp/warmer-apply-XXXXXX";
    struct diag diag = {{0}};
    struct parts parts;
    struct device *device = NULL;
    int descriptor = mkstemp(path);
    write_manifest(descriptor);
    close(descriptor);
    uint8_t *buffer = device_alloc_buffer(APPLY_BUFFER_BYTES);
    memset(buffer, 0, APPLY_BUFFER_BYTES);
    CHECK_EQ(device_open(path, &device, &diag), 0);
    CHECK_EQ(parts_open(&parts, path, 0, &diag), 0);
    CHECK_EQ(parts_load(&parts, &diag), 0);
    struct apply_settings settings = {.device = device,
                                      .engine = &fake.base,
                                      .buffer = buffer,
                                      .parts = &parts,
                                      .volume_bytes = VOLUME_BYTES,
                                      .max_mib_s = max_mib_s,
                                      .polite_latency_ms = polite_latency_ms,
                                      .now_ns = fake_now_ns,
                                      .is_interrupted = is_interrupted,
                                      .confirm = agree,
                                      .watch = watch,
                                      .count_writes = count_writes,
                                      .observe = between_turns};
    told = (struct diag){{0}};
    *result = (struct apply_result){.blocks_written = 0};
    int status = apply_run(&settings, result, &told);
    parts_close(&parts);
    device_close(device);
    device_free_buffer(buffer);
    unlink(path);
    return status;
}

static struct apply_result run(double max_mib_s, double polite_latency_ms) {
    struct apply_result result;
    watch = NULL;
    CHECK_EQ(apply(max_mib_s, polite_latency_ms, &result), 0);
    CHECK_TEXT(told.text, "");
    CHECK_EQ(result.bytes_written, VOLUME_BYTES);
    CHECK_EQ(result.bytes_read_back, VOLUME_BYTES);
    CHECK_EQ(result.progress.blocks_done, BLOCKS);
    return result;
}

/** The most bytes that began in any five seconds. */
static double most_in_a_window(void) {
    uint64_t end = 0, bytes = 0, most = 0;
    for (uint64_t begin = 0; begin < fake.submitted; begin++) {
        while (end < fake.submitted && fake.at_ns[end] < fake.at_ns[begin] + WINDOW_NS) {
            bytes += fake.lengths[end++];
        }
        most = bytes > most ? bytes : most;
        bytes -= fake.lengths[begin];
    }
    return (double)most;
}

static void writes_and_what_is_read_back_keep_a_rate_together(void) {
    fake_reset(&fake, quick);
    idle_ns = MS;
    run(16, 0);
    CHECK_EQ(fake.submitted, 2 * BLOCKS);
    CHECK_BETWEEN(most_in_a_window(), BLOCK_BYTES, 1.02 * 16 * 5 * MIB);
    /* 160 MiB at 16 MiB a second. */
    CHECK_BETWEEN(fake_now_ns(), 9.8e9, 1e12);
}

static void small_reads_stay_under_the_limit_while_blocks_are_written(void) {
    fake_reset(&fake, throttled);
    idle_ns = MS;
    moved_ns = 0;
    bytes_per_ns = 50 * MIB / 1e9;
    struct apply_result result = run(0, 40);
    struct latency_summary probes = latency_summarise(&result.progress.probes);
    CHECK_BETWEEN(result.progress.probes.count, 10, 1000);
    CHECK_BETWEEN(probes.p90_ms, 0.5, 40);
}

static void where_one_block_is_too_much_pauses_come_between(void) {
    fake_reset(&fake, throttled);
    idle_ns = 5 * MS;
    moved_ns = 0;
    /* A block takes 20 ms to move: with one in flight, most small reads meet more than 5 ms. */
    bytes_per_ns = 25 * MIB / 1e9;
    struct apply_result result = run(0, 5);
    struct latency_summary probes = latency_summarise(&result.progress.probes);
    CHECK_BETWEEN(probes.p50_ms, 0.5, 5);
    CHECK_BETWEEN(fake_now_ns(), 6.4e9 * 1.5, 1e13);
}

static int nobody(void *context, struct diag *diag) {
    (void)context, (void)diag;
    looks++;
    return 0;
}

static int somebody(void *context, struct diag *diag) {
    (void)context;
    looks++;
    return diag_refuse(diag, WARMER_DISTURBED, "process 7 (mkfs) opened /dev/nvme1n1 for writing");
}

static void whoever_begins_to_use_the_device_stops_the_writing(void) {
    struct apply_result result;
    char expected[128];
    fake_reset(&fake, quick);
    is_waiting = true;
    idle_ns = MS;
    looks = 0;
    watch = somebody;
    CHECK_EQ(apply(0, 0, &result), WARMER_DISTURBED);
    is_waiting = false;
    CHECK_BETWEEN(looks, 1, 1);
    CHECK_BETWEEN(result.blocks_written, 1, BLOCKS);
    unsigned written = (unsigned)result.blocks_written;
    snprintf(expected, sizeof expected, "%u %s written; process 7 (mkfs) opened /dev/nvme1n1 for writing",
             written, written == 1 ? "block was" : "blocks were");
    CHECK_TEXT(told.text, expected);
}

static void a_device_that_is_written_quickly_is_looked_at_in_the_end(void) {
    struct apply_result result;
    fake_reset(&fake, quick);
    idle_ns = MS;
    looks = 0;
    watch = nobody;
    CHECK_EQ(apply(0, 0, &result), 0);
    CHECK_BETWEEN(looks, 1, 1000);
}

static uint64_t bytes_of_others;
static unsigned begun_before; /**< Of which write on the others' bytes are there. */

/** As a kernel counts: what is submitted here, of which all is done at the end, and what others do. */
static bool count_all(void *context, uint64_t *bytes) {
    (void)context;
    *bytes = 0;
    for (uint64_t i = 0; i < fake.submitted; i++) {
        *bytes += fake.is_write[i] ? fake.lengths[i] : 0;
    }
    *bytes += fake.submitted >= begun_before ? bytes_of_others : 0;
    return true;
}

static bool count_nothing(void *context, uint64_t *bytes) {
    (void)context;
    *bytes = 0;
    return false;
}

static int apply_counted(bool (*count)(void *context, uint64_t *bytes), struct apply_result *result) {
    fake_reset(&fake, quick);
    idle_ns = MS;
    watch = nobody;
    count_writes = count;
    int status = apply(0, 0, result);
    count_writes = NULL;
    return status;
}

static void what_the_system_counted_must_be_what_was_written(void) {
    struct apply_result result;
    bytes_of_others = 0;
    CHECK_EQ(apply_counted(count_all, &result), 0);
    CHECK(result.is_counted);
    CHECK_TEXT(result.count_note, "");
    bytes_of_others = 512;
    begun_before = 0;
    CHECK_EQ(apply_counted(count_all, &result), WARMER_DISTURBED);
    CHECK_EQ(result.blocks_written, 0);
    CHECK_TEXT(told.text, "0 blocks were written; somebody else has written to the device: 512 bytes were "
                          "written or discarded since it was taken, and 0 of them by this program");
    begun_before = 2 * BLOCKS;
    CHECK_EQ(apply_counted(count_all, &result), WARMER_DISTURBED);
    CHECK_EQ(result.blocks_written, BLOCKS);
    CHECK(!result.is_counted);
}

static void what_is_not_counted_is_not_known(void) {
    struct apply_result result;
    CHECK_EQ(apply_counted(count_nothing, &result), 0);
    CHECK(!result.is_counted);
    CHECK(strstr(result.count_note, "does not count") != NULL);
    bytes_of_others = (uint64_t)0 - 512; /* It did not count all the time. */
    begun_before = 1;
    CHECK_EQ(apply_counted(count_all, &result), 0);
    CHECK(!result.is_counted);
    CHECK(strstr(result.count_note, "the system counted 83885568 bytes") != NULL);
}

int main(void) {
    RUN(writes_and_what_is_read_back_keep_a_rate_together);
    RUN(small_reads_stay_under_the_limit_while_blocks_are_written);
    RUN(where_one_block_is_too_much_pauses_come_between);
    RUN(whoever_begins_to_use_the_device_stops_the_writing);
    RUN(a_device_that_is_written_quickly_is_looked_at_in_the_end);
    RUN(what_the_system_counted_must_be_what_was_written);
    RUN(what_is_not_counted_is_not_known);
    return CHECK_RESULT();
}
