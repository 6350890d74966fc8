/** The kernel's histogram: what Linux 6.1 printed, and what nobody printed. */
#include "check.h"
#include "observe/histogram.h"
#include "system/clock.h"

#include <stdlib.h>

#define TRIGGER                                                                                              \
    "# trigger info: hist:keys=sector.buckets=1024:vals=hitcount:e=sector+nr_sector:sort=hitcount:"          \
    "size=16384:onmax($e).save(nr_sector) if dev == 271581184 && rwbs ~ \"R*\" [active]\n"

static char text[4096];

/** The blocks and reads that lines give, as the recording writes them; `dropped` is the histogram's. */
static const char *taken(const char *const *lines, size_t count, uint64_t *dropped) {
    struct recording *recording = recording_create(UINT64_C(8) << 30, 100);
    struct histogram histogram = {.recording = recording, .time_ns = 5 * NS_PER_SECOND};
    for (size_t i = 0; i < count; i++) {
        histogram_take(&histogram, lines[i]);
    }
    struct recording_facts facts = {.volume_id = "", .source = "histogram"};
    FILE *stream = tmpfile();
    CHECK_EQ(recording_write(recording, &facts, stream), 0);
    rewind(stream);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    recording_destroy(recording);
    *dropped = histogram.dropped;
    return strchr(text, '\n') + 1;
}

#define TAKEN(lines, dropped) taken(lines, sizeof lines / sizeof lines[0], dropped)

static void what_linux_prints_is_read(void) {
    static const char *const lines[] = {
        "# event histogram\n",
        "#\n",
        TRIGGER,
        "#\n",
        "\n",
        "{ sector: ~ 5120-6143 } hitcount:          1\n",
        "\tmax:       6144  nr_sector:       1024\n",
        "{ sector: ~ 6144-7167 } hitcount:          1\n",
        "\tmax:       7168  nr_sector:       1024\n",
        "{ sector: ~ 102400-103423 } hitcount:          1\n",
        "\tmax:     103528  nr_sector:        128\n",
        "{ sector: ~ 16776192-16777215 } hitcount:         12\n",
        "\tmax:   16777216  nr_sector:          8\n",
        "{ sector: ~ 0-1023 } hitcount:          3\n",
        "\tmax:       1032  nr_sector:         16\n",
        "\n",
        "Totals:\n",
        "    Hits: 18\n",
        "    Entries: 5\n",
        "    Dropped: 7\n",
    };
    uint64_t dropped = 0;
    CHECK_TEXT(TAKEN(lines, &dropped), "0 3 5\n1 1 5\n5 1 5\n6 1 5\n100 1 5\n101 1 5\n16383 12 5\n");
    CHECK_EQ(dropped, 7);
}

static void what_is_no_histogram_of_blocks_is_left_out(void) {
    static const char *const lines[] = {
        "{ sector: ~ 8-1031 } hitcount: 1",
        "max: 1032",
        "{ sector: ~ 0-2047 } hitcount: 1",
        "max: 8",
        "{ sector: 5120 } hitcount: 1",
        "max: 6144",
        "{ sector: ~ 18446744073709551616-18446744073709552639 } hitcount: 1",
        "max: 8",
        "{ sector: ~ 0-1023 } hitcount: -1",
        "max: 8",
        "{ sector: ~ 0-1023 } hitcount:",
        "max: 8",
        "max: 99999",
        "Dropped: many",
        "",
    };
    uint64_t dropped = 0;
    CHECK_TEXT(TAKEN(lines, &dropped), "");
    CHECK_EQ(dropped, 0);
}

static void a_block_without_an_end_is_counted_alone(void) {
    static const char *const lines[] = {
        "{ sector: ~ 2048-3071 } hitcount: 4",
        "{ sector: ~ 4096-5119 } hitcount: 2",
        "max: none",
        "{ sector: ~ 9216-10239 } hitcount: 1",
        "max: 5",
    };
    uint64_t dropped = 0;
    CHECK_TEXT(TAKEN(lines, &dropped), "2 4 5\n4 2 5\n9 1 5\n");
}

int main(void) {
    RUN(what_linux_prints_is_read);
    RUN(what_is_no_histogram_of_blocks_is_left_out);
    RUN(a_block_without_an_end_is_counted_alone);
    return CHECK_RESULT();
}
