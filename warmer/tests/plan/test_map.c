#include "check.h"
#include "plan/map.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define DEVICE_BLOCKS 1000u

static int collect(void *context, uint64_t start, uint64_t count) {
    return extents_append(context, start, count);
}

/** Parse a text in pieces of `piece` bytes. */
static int parse(const char *text, size_t length, size_t piece, enum map_order order, struct extents *list,
                 struct diag *diag) {
    struct map_parser parser;
    map_parser_init(&parser, DEVICE_BLOCKS, order, collect, list);
    int failure = 0;
    for (size_t at = 0; at < length && failure == 0; at += piece) {
        size_t rest = length - at;
        failure = map_parser_feed(&parser, text + at, rest < piece ? rest : piece, diag);
    }
    return failure != 0 ? failure : map_parser_finish(&parser, diag);
}

static void good_maps_are_read_whatever_the_pieces(void) {
    const char *good = "0 3\n10\t \t1\n011 002\n997 3";
    for (size_t piece = 1; piece <= strlen(good); piece++) {
        struct extents list = {0};
        struct diag diag = {{0}};
        CHECK_EQ(parse(good, strlen(good), piece, MAP_ASCENDING, &list, &diag), 0);
        CHECK_TEXT(diag.text, "");
        CHECK_EQ(list.length, 3);
        CHECK_EQ(list.items[0].count, 3);
        CHECK_EQ(list.items[1].start, 10);
        CHECK_EQ(list.items[1].count, 3);
        CHECK_EQ(list.items[2].start, 997);
        extents_clear(&list);
    }
}

static void an_empty_map_is_a_map_of_nothing(void) {
    struct extents list = {0};
    struct diag diag = {{0}};
    CHECK_EQ(parse("", 0, 1, MAP_ASCENDING, &list, &diag), 0);
    CHECK_EQ(list.length, 0);
}

/** A text that is refused, and how. */
struct refusal {
    const char *text;
    const char *reason;
};

static const struct refusal refusals[] = {
    {"\n", "line 1: empty line"},
    {"0 1\n\n5 1\n", "line 2: empty line"},
    {"0 1\n5\n", "line 2: count is missing"},
    {"5", "line 1: count is missing"},
    {"5 ", "line 1: count is missing"},
    {"5 0\n", "line 1: count is 0"},
    {"-1 5\n", "line 1: unexpected character '-'"},
    {"1 -5\n", "line 1: unexpected character '-'"},
    {"0x10 1\n", "line 1: unexpected character 'x'"},
    {"1.5 1\n", "line 1: unexpected character '.'"},
    {"1,5\n", "line 1: unexpected character ','"},
    {" 1 5\n", "line 1: unexpected byte 0x20"},
    {"1 5 \n", "line 1: text after the count"},
    {"1 5 7\n", "line 1: text after the count"},
    {"# written\n", "line 1: unexpected character '#'"},
    {"1 5\r\n", "line 1: unexpected byte 0x0d"},
    {"1 5\n\xef\xbb\xbf", "line 2: unexpected byte 0xef"},
    {"18446744073709551616 1\n", "line 1: number is too large"},
    {"1 99999999999999999999\n", "line 1: number is too large"},
    {"10 5\n14 1\n",
     "line 2: block 14 comes before block 15, where the previous extent ends (extents must be "
     "ascending and disjoint)"},
    {"10 5\n9 1\n", "line 2: block 9 comes before block 15, where the previous extent ends (extents must be "
                    "ascending and disjoint)"},
    {"1000 1\n", "line 1: extent 1000 1 reaches beyond the device, which has 1000 blocks"},
    {"999 2\n", "line 1: extent 999 2 reaches beyond the device, which has 1000 blocks"},
    {"999 18446744073709551615\n",
     "line 1: extent 999 18446744073709551615 reaches beyond the device, which has 1000 blocks"},
};

static void every_fault_is_refused_with_its_line(void) {
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        for (size_t piece = 1; piece < 40; piece += 6) {
            struct extents list = {0};
            struct diag diag = {{0}};
            const char *text = refusals[i].text;
            CHECK_EQ(parse(text, strlen(text), piece, MAP_ASCENDING, &list, &diag), WARMER_USAGE);
            CHECK_TEXT(diag.text, refusals[i].reason);
            extents_clear(&list);
        }
    }
}

static void a_zero_byte_is_refused(void) {
    struct extents list = {0};
    struct diag diag = {{0}};
    CHECK_EQ(parse("1 2\0\n", 5, 5, MAP_ASCENDING, &list, &diag), WARMER_USAGE);
    CHECK_TEXT(diag.text, "line 1: unexpected byte 0x00");
}

static void what_to_read_first_may_come_in_any_order(void) {
    struct extents list = {0};
    struct diag diag = {{0}};
    const char *text = "50 2\n10 5\n12 1\n";
    CHECK_EQ(parse(text, strlen(text), 100, MAP_ANY, &list, &diag), 0);
    CHECK_EQ(list.length, 3);
    CHECK_EQ(list.items[0].start, 50);
    extents_clear(&list);
}

static int no_memory(void *context, uint64_t start, uint64_t count) {
    (void)context;
    (void)start;
    (void)count;
    return -ENOMEM;
}

static void a_sink_that_fails_stops_the_parser(void) {
    struct map_parser parser;
    struct diag diag = {{0}};
    map_parser_init(&parser, DEVICE_BLOCKS, MAP_ASCENDING, no_memory, NULL);
    CHECK_EQ(map_parser_feed(&parser, "1 1\n", 4, &diag), WARMER_USAGE);
    CHECK_TEXT(diag.text, "line 1: out of memory");
}

static void a_file_that_is_not_there_cannot_be_opened(void) {
    struct block_set *set = block_set_create(10);
    struct diag diag = {{0}};
    CHECK_EQ(map_load("/nonexistent/map", set, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot open /nonexistent/map: No such file or directory");
    CHECK_EQ(map_load("/", set, &diag), WARMER_CANNOT_OPEN);
    /* Windows refuses earlier. */
    CHECK(strcmp(diag.text, "cannot read /: Is a directory") == 0 ||
          strcmp(diag.text, "cannot open /: Permission denied") == 0);
    block_set_destroy(set);
}

static void a_million_extents_load_into_a_small_set(void) {
    char path[] = "/tmp/warmer-map-XXXXXX";
    int descriptor = mkstemp(path);
    FILE *stream = fdopen(descriptor, "w");
    for (unsigned i = 0; i < 1000000; i++) {
        fprintf(stream, "%u 1\n", 2 * i);
    }
    fclose(stream);
    struct block_set *set = block_set_create(2000000);
    struct diag diag = {{0}};
    CHECK_EQ(map_load(path, set, &diag), 0);
    CHECK_EQ(block_set_count(set), 1000000);
    CHECK(block_set_contains(set, 1999998));
    block_set_destroy(set);
    unlink(path);
}

int main(void) {
    RUN(good_maps_are_read_whatever_the_pieces);
    RUN(an_empty_map_is_a_map_of_nothing);
    RUN(every_fault_is_refused_with_its_line);
    RUN(a_zero_byte_is_refused);
    RUN(what_to_read_first_may_come_in_any_order);
    RUN(a_sink_that_fails_stops_the_parser);
    RUN(a_file_that_is_not_there_cannot_be_opened);
    RUN(a_million_extents_load_into_a_small_set);
    return CHECK_RESULT();
}
