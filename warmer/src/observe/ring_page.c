/**
 * A page of the kernel's ring buffer, as the file trace_pipe_raw has it (include/linux/ring_buffer.h and
 * kernel/trace/ring_buffer.c). Each record begins with a word: five bits of type, 27 of nanoseconds since the
 * record before it.
 */
#include "observe/ring_page.h"

#include "base/number.h"

#include <string.h>

#define TYPE_BITS 5u
#define DELTA_BITS 27u
#define TYPE_PADDING 29u
#define TYPE_TIME_EXTEND 30u
#define TYPE_TIME_STAMP 31u
/** Flags in the upper bits of a page's length say that records before it were lost. */
#define COMMIT_MASK 0x3fffffffu
/** A time stamp has 59 bits; the others are as they were. */
#define STAMP_BITS 59u
#define LARGEST_PAGE (1u << 20)
/** Larger numbers of a format are none that is known here, and no sum of two of them overflows. */
#define MOST_NUMBER 999999999u

/** The bytes are in the machine's own order. */
static uint32_t word_at(const uint8_t *bytes) {
    uint32_t word = 0;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint64_t long_at(const uint8_t *bytes) {
    uint64_t value = 0;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/** A number behind a text, or NULL. */
static const char *take_number(const char *text, const char *before, uint32_t *number) {
    uint64_t found = 0;
    text = number_take_after(text, before, MOST_NUMBER, &found);
    *number = (uint32_t)found;
    return text;
}

/** The offset of a field, and its size; false: there is no such field. */
static bool find_field(const char *text, const char *name, uint32_t *offset, uint32_t *size) {
    size_t length = strlen(name);
    for (const char *line = strstr(text, "field:"); line != NULL; line = strstr(line + 1, "field:")) {
        const char *end = strchr(line, ';');
        bool is_it = end != NULL && (size_t)(end - line) > length + 1 && end[-(ptrdiff_t)length - 1] == ' ' &&
                     strncmp(end - length, name, length) == 0;
        if (is_it) {
            end = take_number(end, ";\toffset:", offset);
            end = take_number(end, ";\tsize:", size);
            return end != NULL && *end == ';';
        }
    }
    return false;
}

bool ring_format_parse(const char *event_format, const char *header_page, struct ring_format *format) {
    const char *id = strstr(event_format, "\nID:");
    uint32_t size[4] = {0};
    *format = (struct ring_format){0};
    bool is_known = take_number(id, "\nID: ", &format->event_id) != NULL &&
                    find_field(event_format, "sector", &format->sector_at, &size[0]) &&
                    find_field(event_format, "nr_sector", &format->count_at, &size[1]) &&
                    find_field(header_page, "commit", &format->commit_at, &size[2]) &&
                    find_field(header_page, "data", &format->data_at, &size[3]);
    format->page_bytes = format->data_at + size[3];
    return is_known && size[0] == 8 && size[1] == 4 && (size[2] == 4 || size[2] == 8) &&
           format->commit_at >= 8 && format->data_at >= format->commit_at + size[2] && format->data_at < 64 &&
           format->page_bytes >= 512 && format->page_bytes <= LARGEST_PAGE && format->sector_at < 256 &&
           format->count_at < 256;
}

static void take_record(const struct ring_format *format, const uint8_t *record, size_t bytes,
                        uint64_t time_ns, ring_visit *visit, void *context) {
    uint16_t id = 0;
    if (bytes < sizeof id || bytes < format->sector_at + 8 || bytes < format->count_at + 4) {
        return;
    }
    memcpy(&id, record, sizeof id);
    if (id == format->event_id) {
        visit(context, time_ns, long_at(record + format->sector_at), word_at(record + format->count_at));
    }
}

/** The bytes that follow the first word of an entry, its length too if it has one; 0: there are none. */
static size_t length_of(uint32_t type, const uint8_t *entry, size_t left) {
    if (type != 0 && type < TYPE_PADDING) {
        return type * 4u;
    }
    return left < 8 ? 0 : type >= TYPE_TIME_EXTEND ? 4u : (word_at(entry + 4) + 3u) & ~(size_t)3u;
}

bool ring_page_read(const struct ring_format *format, const uint8_t *page, size_t bytes, ring_visit *visit,
                    void *context) {
    if (bytes < format->data_at) {
        return false;
    }
    uint64_t time_ns = long_at(page);
    size_t end = format->data_at + (word_at(page + format->commit_at) & COMMIT_MASK);
    if (end > bytes) {
        return false;
    }
    for (size_t at = format->data_at; at + 4 <= end;) {
        uint32_t word = word_at(page + at);
        uint32_t type = word & ((1u << TYPE_BITS) - 1);
        uint64_t delta = word >> TYPE_BITS;
        size_t length = length_of(type, page + at, end - at);
        if (type == TYPE_PADDING && delta == 0) {
            return true; /* The rest of the page is empty. */
        }
        if (length < 4 || length > end - at - 4) {
            return false;
        }
        if (type >= TYPE_TIME_EXTEND) {
            delta |= (uint64_t)word_at(page + at + 4) << DELTA_BITS;
            time_ns =
                type == TYPE_TIME_EXTEND ? time_ns + delta : (time_ns >> STAMP_BITS << STAMP_BITS) | delta;
        } else if (type != TYPE_PADDING) {
            size_t skipped = type == 0 ? 8u : 4u; /* A long record has its length behind the word. */
            time_ns += delta;
            take_record(format, page + at + skipped, length + 4 - skipped, time_ns, visit, context);
        }
        at += 4 + length;
    }
    return true;
}
