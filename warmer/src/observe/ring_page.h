#ifndef WARMER_RING_PAGE_H
#define WARMER_RING_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Where a page of the kernel's ring buffer, and a record of block_rq_issue in it, have what is needed. */
struct ring_format {
    uint32_t page_bytes;
    uint32_t commit_at; /**< How many bytes of records the page has. */
    uint32_t data_at;
    uint32_t event_id;
    uint32_t sector_at; /**< Eight bytes. */
    uint32_t count_at;  /**< Sectors, four bytes. */
};

/**
 * Read the file `format` of the event and the file `events/header_page`. Returns whether they name what is
 * needed, in the sizes that are known here.
 */
bool ring_format_parse(const char *event_format, const char *header_page, struct ring_format *format);

/** Called for each record. Times are those of the trace's clock. */
typedef void ring_visit(void *context, uint64_t time_ns, uint64_t sector, uint32_t sectors);

/** Read the records of a page of `bytes` bytes, oldest first. Returns false at what is no record. */
bool ring_page_read(const struct ring_format *format, const uint8_t *page, size_t bytes, ring_visit *visit,
                    void *context);

#endif
