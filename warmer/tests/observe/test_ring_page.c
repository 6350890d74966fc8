/** Pages of the kernel's ring buffer: its formats, every type of entry, and pages that are cut off. */
#include "check.h"
#include "observe/ring_page.h"

#include <stdlib.h>

/** As Linux 6.1 says it. */
#define EVENT_FORMAT                                                                                         \
    "name: block_rq_issue\nID: 1190\nformat:\n"                                                              \
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                                   \
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"                                             \
    "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"                                                    \
    "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"                                             \
    "\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n"                                      \
    "\tfield:char rwbs[8];\toffset:32;\tsize:8;\tsigned:1;\n\n"                                              \
    "print fmt: \"%llu + %u\", (unsigned long long)REC->sector, REC->nr_sector\n"
#define HEADER_PAGE                                                                                          \
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"                                               \
    "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"                                              \
    "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"                                               \
    "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
#define RECORD_WORDS 16u /* 64 bytes. */

struct page {
    uint8_t bytes[4096];
    size_t length; /**< Of the data. */
};

static void put_word(struct page *page, uint32_t word) {
    memcpy(page->bytes + 16 + page->length, &word, sizeof word);
    page->length += sizeof word;
}

static void put_data(struct page *page, uint16_t id, uint64_t sector, uint32_t count) {
    uint8_t *data = page->bytes + 16 + page->length;
    memset(data, 0, RECORD_WORDS * 4);
    memcpy(data, &id, sizeof id);
    memcpy(data + 16, &sector, sizeof sector);
    memcpy(data + 24, &count, sizeof count);
    page->length += RECORD_WORDS * 4;
}

static void put_record(struct page *page, uint32_t delta, uint16_t id, uint64_t sector, uint32_t count) {
    put_word(page, delta << 5 | RECORD_WORDS);
    put_data(page, id, sector, count);
}

static void begin(struct page *page, uint64_t time_ns) {
    memset(page, 0, sizeof *page);
    memcpy(page->bytes, &time_ns, sizeof time_ns);
}

static char seen[4096];

static void note(void *context, uint64_t time_ns, uint64_t sector, uint32_t sectors) {
    size_t used = strlen(seen);
    (void)context;
    snprintf(seen + used, sizeof seen - used, "%" PRIu64 ":%" PRIu64 "+%u ", time_ns, sector, sectors);
}

static bool read_page(struct page *page, uint64_t flags) {
    struct ring_format format;
    uint64_t commit = page->length | flags;
    memcpy(page->bytes + 8, &commit, sizeof commit);
    seen[0] = '\0';
    CHECK(ring_format_parse(EVENT_FORMAT, HEADER_PAGE, &format));
    /* Just as many bytes as the page has, so that a sanitizer sees a step too far. */
    uint8_t *copy = malloc(sizeof page->bytes);
    memcpy(copy, page->bytes, sizeof page->bytes);
    bool is_whole = ring_page_read(&format, copy, sizeof page->bytes, note, NULL);
    free(copy);
    return is_whole;
}

static void formats_are_read(void) {
    struct ring_format format;
    CHECK(ring_format_parse(EVENT_FORMAT, HEADER_PAGE, &format));
    CHECK_EQ(format.page_bytes, 4096);
    CHECK_EQ(format.commit_at, 8);
    CHECK_EQ(format.data_at, 16);
    CHECK_EQ(format.event_id, 1190);
    CHECK_EQ(format.sector_at, 16);
    CHECK_EQ(format.count_at, 24);
}

static void other_formats_are_refused(void) {
    static const char *const events[] = {
        "",
        "ID: 1190\n",
        "name: x\nID: 1190\n\tfield:sector_t sector;\toffset:16;\tsize:8;\n",
        "name: x\nID: 1190\n\tfield:u32 sector;\toffset:16;\tsize:4;\n\tfield:u32 "
        "nr_sector;\toffset:24;\tsize:4;\n",
        "name: x\n\tfield:u64 sector;\toffset:16;\tsize:8;\n\tfield:u32 nr_sector;\toffset:24;\tsize:4;\n",
        "name: x\nID: 7\n\tfield:u64 sector;\toffset:999;\tsize:8;\n\tfield:u32 "
        "nr_sector;\toffset:24;\tsize:4;\n",
    };
    static const char *const headers[] = {
        "",
        "\tfield: local_t commit;\toffset:8;\tsize:8;\n",
        "\tfield: local_t commit;\toffset:8;\tsize:8;\n\tfield: char data;\toffset:12;\tsize:4080;\n",
        "\tfield: local_t commit;\toffset:8;\tsize:8;\n\tfield: char data;\toffset:16;\tsize:99999999;\n",
        "\tfield: local_t commit;\toffset:-8;\tsize:8;\n\tfield: char data;\toffset:16;\tsize:4080;\n",
        "\tfield: local_t commit;\toffset:8;\tsize:8;\n\tfield: char data;\toffset:+16;\tsize:4080;\n",
        "\tfield: local_t commit;\toffset:8;\tsize:8;\n\tfield: char data;\toffset:16;\tsize: 4080;\n",
        "\tfield: local_t commit;\toffset:8;\tsize:8;\n\tfield: char data;\toffset:16;\tsize:4080\n"};
    struct ring_format format;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        CHECK(!ring_format_parse(events[i], HEADER_PAGE, &format));
    }
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        CHECK(!ring_format_parse(EVENT_FORMAT, headers[i], &format));
    }
}

static void records_are_read_with_their_times(void) {
    struct page page;
    begin(&page, 1000);
    put_record(&page, 5, 1190, 77, 8);
    put_record(&page, 10, 1190, UINT64_MAX, 16);
    put_record(&page, 0, 4, 1, 1); /* Another event's. */
    CHECK(read_page(&page, 0));
    CHECK_TEXT(seen, "1005:77+8 1015:18446744073709551615+16 ");
    CHECK(read_page(&page, UINT64_C(3) << 30)); /* Records before them were lost. */
    CHECK_TEXT(seen, "1005:77+8 1015:18446744073709551615+16 ");
}

static void every_type_of_entry_is_known(void) {
    struct page page;
    begin(&page, 1000);
    put_word(&page, 3u << 5 | 30); /* Much later. */
    put_word(&page, 2);
    put_record(&page, 1, 1190, 1, 1);
    put_word(&page, 9u << 5 | 29); /* Discarded: eight bytes behind the first word. */
    put_word(&page, 8);
    put_word(&page, 0xffffffff);
    put_word(&page, 7u << 5 | 31); /* A whole time. */
    put_word(&page, 1);
    put_word(&page, 2u << 5); /* A long record, with its length. */
    put_word(&page, RECORD_WORDS * 4 + 4);
    put_data(&page, 1190, 2, 2);
    put_word(&page, 29); /* The rest is empty. */
    put_record(&page, 1, 1190, 3, 3);
    CHECK(read_page(&page, 0));
    CHECK_TEXT(seen, "268436460:1+1 134217737:2+2 ");
}

static void a_page_that_is_cut_off_is_no_page(void) {
    struct page page;
    begin(&page, 1000);
    put_record(&page, 5, 1190, 77, 8);
    put_record(&page, 5, 1190, 78, 8);
    for (size_t length = page.length - 1; length > RECORD_WORDS * 4 + 8; length--) {
        page.length = length;
        CHECK(!read_page(&page, 0));
        CHECK_TEXT(seen, "1005:77+8 ");
    }
    page.length = 4081;
    CHECK(!read_page(&page, 0));
    CHECK_TEXT(seen, "");
    begin(&page, 0);
    put_word(&page, 0); /* A long record of no length. */
    put_word(&page, 0);
    CHECK(!read_page(&page, 0));
    begin(&page, 0);
    put_word(&page, 0);
    put_word(&page, 0xfffffffd);
    CHECK(!read_page(&page, 0));
    struct ring_format format;
    CHECK(ring_format_parse(EVENT_FORMAT, HEADER_PAGE, &format));
    CHECK(!ring_page_read(&format, page.bytes, 15, note, NULL));
}

int main(void) {
    RUN(formats_are_read);
    RUN(other_formats_are_refused);
    RUN(records_are_read_with_their_times);
    RUN(every_type_of_entry_is_known);
    RUN(a_page_that_is_cut_off_is_no_page);
    return CHECK_RESULT();
}
