/** Recordings: the order of first reads, reads that span blocks, limits, and what is written. */
#include "check.h"
#include "observe/recording.h"
#include "system/clock.h"

#include <stdlib.h>

#define BLOCKS(count) ((uint64_t)(count) * 524288)

static char text[65536];
static bool has_warm_up;

/** What is written of a recording that began at second 10 and ended at second 70. */
static const char *written(const struct recording *recording) {
    struct recording_facts facts = {.volume_id = "vol-0123456789abcdef0",
                                    .source = "events",
                                    .begin_ns = 10 * NS_PER_SECOND,
                                    .end_ns = 70 * NS_PER_SECOND,
                                    .dropped = 2,
                                    .has_warm_up = has_warm_up,
                                    .is_complete = true};
    FILE *stream = tmpfile();
    CHECK_EQ(recording_write(recording, &facts, stream), 0);
    rewind(stream);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    return text;
}

#define HEAD(bytes, dropped)                                                                                 \
    "{\"recording\":1,\"volumeId\":\"vol-0123456789abcdef0\",\"bytes\":" bytes                               \
    ",\"blockBytes\":524288,\"seconds\":60,\"source\":\"events\",\"dropped\":" dropped                       \
    ",\"complete\":true}\n"

static void blocks_stand_in_the_order_of_their_first_reads(void) {
    struct recording *recording = recording_create(BLOCKS(100), 10);
    recording_add_read(recording, 7 * 1024, 8, 11 * NS_PER_SECOND);
    recording_add_read(recording, 3 * 1024 + 5, 8, 13 * NS_PER_SECOND);
    recording_add_read(recording, 99 * 1024, 1024, 12 * NS_PER_SECOND); /* Another processor's, seen later. */
    recording_add_read(recording, 3 * 1024, 8, 14 * NS_PER_SECOND);
    recording_add_read(recording, 0, 8, 9 * NS_PER_SECOND);
    CHECK_TEXT(written(recording), HEAD("52428800", "2") "0 1 0\n7 1 1\n99 1 2\n3 2 3\n");
    CHECK_EQ(recording_blocks(recording), 4);
    CHECK_EQ(recording_reads(recording), 5);
    recording_destroy(recording);
}

static void a_read_counts_for_each_block_that_it_touches(void) {
    struct recording *recording = recording_create(BLOCKS(100), 10);
    recording_add_read(recording, 5 * 1024 - 8, 8, 11 * NS_PER_SECOND);
    recording_add_read(recording, 8 * 1024 - 8, 16, 12 * NS_PER_SECOND);
    recording_add_read(recording, 20 * 1024 + 1, 3 * 1024, 13 * NS_PER_SECOND);
    CHECK_TEXT(written(recording),
               HEAD("52428800", "2") "4 1 1\n7 1 2\n8 1 2\n20 1 3\n21 1 3\n22 1 3\n23 1 3\n");
    recording_destroy(recording);
}

static void what_is_beyond_the_device_or_empty_is_left_out(void) {
    struct recording *recording = recording_create(BLOCKS(4) + 512, 10);
    recording_add_read(recording, 5 * 1024, 8, 11 * NS_PER_SECOND);
    recording_add_read(recording, UINT64_MAX - 3, 8, 11 * NS_PER_SECOND);
    recording_add_read(recording, 0, 0, 11 * NS_PER_SECOND);
    recording_add_read(recording, 4 * 1024, UINT64_MAX / 2, 11 * NS_PER_SECOND);
    recording_set_reads(recording, 5, 1, 0, 11 * NS_PER_SECOND);
    recording_set_reads(recording, 2, 0, 0, 11 * NS_PER_SECOND);
    recording_set_reads(recording, 3, 1, UINT64_MAX, 12 * NS_PER_SECOND);
    CHECK_TEXT(written(recording), HEAD("2097664", "2") "4 1 1\n3 1 2\n");
    recording_destroy(recording);
}

static void a_full_recording_counts_what_it_knows_and_drops_the_rest(void) {
    struct recording *recording = recording_create(BLOCKS(100), 2);
    CHECK(!recording_is_full(recording));
    recording_add_read(recording, 0, 2048, 11 * NS_PER_SECOND);
    CHECK(recording_is_full(recording));
    recording_add_read(recording, 5 * 1024, 8, 12 * NS_PER_SECOND);
    recording_add_read(recording, 1024, 2048, 12 * NS_PER_SECOND);
    CHECK_EQ(recording_dropped(recording), 2);
    CHECK_TEXT(written(recording), HEAD("52428800", "4") "0 1 1\n1 2 1\n");
    recording_destroy(recording);
}

static void counts_of_a_histogram_are_not_added_up(void) {
    struct recording *recording = recording_create(BLOCKS(100), 10);
    recording_set_reads(recording, 9, 3, 9 * 1024 + 8, 11 * NS_PER_SECOND);
    recording_set_reads(recording, 2, 1, 4 * 1024 + 1, 11 * NS_PER_SECOND);
    recording_set_reads(recording, 9, 5, 9 * 1024 + 8, 13 * NS_PER_SECOND);
    recording_set_reads(recording, 3, 4, 3 * 1024 + 8, 13 * NS_PER_SECOND);
    recording_set_reads(recording, 1, 1, 2 * 1024, 13 * NS_PER_SECOND);
    CHECK_TEXT(written(recording), HEAD("52428800", "2") "2 1 1\n3 4 1\n4 1 1\n9 5 1\n1 1 3\n");
    recording_destroy(recording);
}

static bool is_below(void *context, uint64_t block) {
    return block < *(uint64_t *)context;
}

static void a_block_is_asked_about_once_after_its_first_read(void) {
    struct recording *recording = recording_create(BLOCKS(100), 10);
    uint64_t warm_from = 8;
    recording_add_read(recording, 7 * 1024, 2048, 11 * NS_PER_SECOND);
    recording_count_cold(recording, is_below, &warm_from);
    CHECK_EQ(recording_cold(recording), 1);
    warm_from = 100;
    recording_add_read(recording, 8 * 1024, 8, 12 * NS_PER_SECOND);
    recording_set_reads(recording, 3, 1, 0, 12 * NS_PER_SECOND);
    recording_count_cold(recording, is_below, &warm_from);
    recording_count_cold(recording, is_below, &warm_from);
    CHECK_EQ(recording_cold(recording), 2);
    CHECK_TEXT(written(recording), HEAD("52428800", "2") "7 1 1\n8 2 1\n3 1 2\n");
    has_warm_up = true;
    CHECK_TEXT(
        written(recording),
        "{\"recording\":1,\"volumeId\":\"vol-0123456789abcdef0\",\"bytes\":52428800,\"blockBytes\":524288,"
        "\"seconds\":60,\"source\":\"events\",\"dropped\":2,\"coldBlocks\":2,\"complete\":true}\n"
        "7 1 1\n8 2 1\n3 1 2\n");
    has_warm_up = false;
    recording_destroy(recording);
}

/** Every block of a set that is drawn is found again, however the table's places collide. */
static void as_many_blocks_as_are_allowed_are_kept(void) {
    struct recording *recording = recording_create(BLOCKS(134217728), RECORDING_BLOCKS);
    for (uint64_t i = 0; i < RECORDING_BLOCKS; i++) {
        recording_add_read(recording, (i * 1021 % 134217728) * 1024, 8, i);
        recording_add_read(recording, (i * 1021 % 134217728) * 1024 + 8, 8, i);
    }
    CHECK(recording_is_full(recording));
    CHECK_EQ(recording_blocks(recording), RECORDING_BLOCKS);
    CHECK_EQ(recording_reads(recording), 2 * RECORDING_BLOCKS);
    CHECK_EQ(recording_dropped(recording), 0);
    recording_destroy(recording);
}

int main(void) {
    RUN(blocks_stand_in_the_order_of_their_first_reads);
    RUN(a_read_counts_for_each_block_that_it_touches);
    RUN(what_is_beyond_the_device_or_empty_is_left_out);
    RUN(a_full_recording_counts_what_it_knows_and_drops_the_rest);
    RUN(counts_of_a_histogram_are_not_added_up);
    RUN(a_block_is_asked_about_once_after_its_first_read);
    RUN(as_many_blocks_as_are_allowed_are_kept);
    return CHECK_RESULT();
}
