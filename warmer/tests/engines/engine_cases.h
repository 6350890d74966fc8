#ifndef WARMER_ENGINE_CASES_H
#define WARMER_ENGINE_CASES_H

/**
 * What every engine must do with a real file. Included by one test program per engine; `ENGINE` is its table.
 * An engine that the system refuses is reported as skipped, not as passed.
 */
#include "base/block_set.h"
#include "check.h"
#include "device/claim.h"
#include "device/device.h"
#include "engines/engine.h"
#include "system/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_BLOCKS 256u
#define DEPTH 16u

static char path[] = "/tmp/warmer-engine-XXXXXX";
static struct device *device;
static void *buffer;

/** A sparse file with a known byte in each block, and a part of a block at its end. */
static void make_file(void) {
    FILE *stream = fdopen(mkstemp(path), "r+b");
    for (unsigned block = 0; block < FILE_BLOCKS; block++) {
        CHECK_EQ(fseeko(stream, (off_t)block * (off_t)BLOCK_BYTES, SEEK_SET), 0);
        CHECK_EQ(fputc((unsigned char)(block + 1), stream), (unsigned char)(block + 1));
    }
    CHECK_EQ(fseeko(stream, (off_t)FILE_BLOCKS * (off_t)BLOCK_BYTES + 776, SEEK_SET), 0);
    CHECK_EQ(fputc(0, stream), 0);
    CHECK_EQ(fclose(stream), 0);
}

static struct engine *open_engine(void) {
    struct engine_settings settings = {
        .device = device, .buffer = buffer, .buffer_bytes = BLOCK_BYTES, .max_in_flight = DEPTH};
    struct engine *engine = NULL;
    int failure = ENGINE.open(&settings, &engine);
    CHECK_EQ(failure, 0);
    return failure == 0 ? engine : NULL;
}

/** One completion, waiting as long as it takes. */
static struct engine_completion wait_one(struct engine *engine) {
    struct engine_completion done = {0};
    int count = 0;
    while (count == 0) {
        count = engine->ops->reap(engine, &done, 1, NS_PER_SECOND);
    }
    CHECK_EQ(count, 1);
    return done;
}

static void reads_what_the_file_holds(void) {
    struct engine *engine = open_engine();
    for (uint32_t block = 0; block < FILE_BLOCKS; block += 51) {
        struct engine_read read = {
            .offset_bytes = block * (uint64_t)BLOCK_BYTES, .length_bytes = BLOCK_BYTES, .tag = 70000 + block};
        memset(buffer, 0xff, BLOCK_BYTES);
        CHECK_EQ(ENGINE.submit(engine, &read), 0);
        struct engine_completion done = wait_one(engine);
        CHECK_EQ(done.tag, 70000 + block);
        CHECK_EQ(done.result, BLOCK_BYTES);
        CHECK_EQ(((unsigned char *)buffer)[0], (unsigned char)(block + 1));
        CHECK_EQ(((unsigned char *)buffer)[BLOCK_BYTES - 1], 0);
    }
    engine_close(engine);
}

static void many_in_flight_complete_once_each(void) {
    struct engine *engine = open_engine();
    unsigned seen[FILE_BLOCKS] = {0};
    unsigned submitted = 0;
    unsigned done_count = 0;
    while (done_count < FILE_BLOCKS) {
        while (submitted < FILE_BLOCKS && submitted - done_count < DEPTH) {
            struct engine_read read = {.offset_bytes = submitted * (uint64_t)BLOCK_BYTES,
                                       .length_bytes = BLOCK_BYTES,
                                       .tag = submitted};
            CHECK_EQ(ENGINE.submit(engine, &read), 0);
            submitted++;
        }
        struct engine_completion done[DEPTH];
        int count = ENGINE.reap(engine, done, DEPTH, NS_PER_SECOND);
        for (int i = 0; i < count; i++) {
            CHECK_EQ(done[i].result, BLOCK_BYTES);
            seen[done[i].tag]++;
        }
        done_count += (unsigned)count;
    }
    for (unsigned block = 0; block < FILE_BLOCKS; block++) {
        CHECK_EQ(seen[block], 1);
    }
    engine_close(engine);
}

static void the_end_of_the_file_is_a_short_read_then_nothing(void) {
    struct engine *engine = open_engine();
    struct engine_read read = {
        .offset_bytes = FILE_BLOCKS * (uint64_t)BLOCK_BYTES, .length_bytes = 4096, .tag = 1};
    CHECK_EQ(ENGINE.submit(engine, &read), 0);
    CHECK_EQ(wait_one(engine).result, 777);
    read.offset_bytes += BLOCK_BYTES;
    CHECK_EQ(ENGINE.submit(engine, &read), 0);
    CHECK_EQ(wait_one(engine).result, 0);
    engine_close(engine);
}

static void errors_come_back_as_results(void) {
    struct engine *engine = open_engine();
    /* Direct I/O from an odd offset, or an offset that is no offset. */
    struct engine_read read = {.offset_bytes = (uint64_t)INT64_MAX - 100, .length_bytes = 4096, .tag = 5};
    CHECK_EQ(ENGINE.submit(engine, &read), 0);
    struct engine_completion done = wait_one(engine);
    CHECK_EQ(done.tag, 5);
    CHECK(done.result <= 0);
    engine_close(engine);
}

static void an_idle_wait_ends_in_time(void) {
    struct engine *engine = open_engine();
    struct engine_completion done;
    uint64_t began_ns = clock_now_ns();
    CHECK_EQ(ENGINE.reap(engine, &done, 1, 30 * NS_PER_MILLISECOND), 0);
    CHECK_BETWEEN(clock_now_ns() - began_ns, 29e6, 2e9);
    CHECK_EQ(ENGINE.reap(engine, &done, 1, 0), 0);
    engine_close(engine);
}

static void closing_waits_for_what_is_in_flight(void) {
    struct engine *engine = open_engine();
    for (uint32_t i = 0; i < DEPTH; i++) {
        struct engine_read read = {
            .offset_bytes = i * (uint64_t)BLOCK_BYTES, .length_bytes = BLOCK_BYTES, .tag = i};
        CHECK_EQ(ENGINE.submit(engine, &read), 0);
    }
    struct engine_completion done[DEPTH];
    CHECK(ENGINE.reap(engine, done, 1, 0) >= 0);
    engine_close(engine);
}

static void what_is_written_is_read_back(void) {
    struct claim claim = {.path = path, .volume_id = "vol-0123456789abcdef0", .is_image = true};
    struct engine_read request = {.offset_bytes = 3 * (uint64_t)BLOCK_BYTES, .length_bytes = BLOCK_BYTES};
    struct device *reader = device;
    struct diag diag = {{0}};
    CHECK_EQ(claim_take(&claim, &device, &diag), 0);
    struct engine *engine = open_engine();
    for (unsigned round = 0; round < 2; round++) {
        request.is_write = round == 0;
        memset(buffer, round == 0 ? 0x5a : 0, BLOCK_BYTES);
        CHECK_EQ(ENGINE.submit(engine, &request), 0);
        CHECK_EQ(wait_one(engine).result, BLOCK_BYTES);
        CHECK_EQ(device_flush(device), 0);
    }
    CHECK_EQ(((unsigned char *)buffer)[0], 0x5a);
    CHECK_EQ(((unsigned char *)buffer)[BLOCK_BYTES - 1], 0x5a);
    engine_close(engine);
    device_close(device);
    device = reader;
}

/** Run all cases; the exit status of the program. */
static int run_engine_cases(void) {
    struct diag diag = {{0}};
    make_file();
    buffer = device_alloc_buffer(BLOCK_BYTES);
    if (device_open(path, &device, &diag) != 0) {
        printf("not ok device_open: %s\n", diag.text);
        return 1;
    }
    struct engine_settings settings = {
        .device = device, .buffer = buffer, .buffer_bytes = BLOCK_BYTES, .max_in_flight = DEPTH};
    struct engine *engine = NULL;
    int failure = ENGINE.open(&settings, &engine);
    if (failure != 0) {
        printf("skip %s: %s\n", ENGINE.name, strerror(-failure));
    } else {
        engine_close(engine);
        RUN(reads_what_the_file_holds);
        RUN(many_in_flight_complete_once_each);
        RUN(the_end_of_the_file_is_a_short_read_then_nothing);
        RUN(errors_come_back_as_results);
        RUN(an_idle_wait_ends_in_time);
        RUN(closing_waits_for_what_is_in_flight);
        RUN(what_is_written_is_read_back);
    }
    device_close(device);
    device_free_buffer(buffer);
    unlink(path);
    return CHECK_RESULT();
}

#endif
