#ifndef WARMER_FIELDS_H
#define WARMER_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The most members of an object that is read. */
#define FIELDS_LIMIT 12u

enum field_kind { FIELD_TEXT, FIELD_NUMBER, FIELD_TRUE, FIELD_NULL };

/** One member of an object; the texts lie in the line, which was changed for it. */
struct field {
    const char *name;
    enum field_kind kind;
    const char *text;
    uint64_t number;
};

/** One flat JSON object: whole numbers, texts of printable ASCII, true and null. */
struct fields {
    struct field items[FIELDS_LIMIT];
    unsigned count;
    unsigned used; /**< How many of them were asked for. */
};

/**
 * Read the object of `length` bytes at `line`, which is changed; the byte after it must be writable. Returns
 * false for anything else, also for a name that comes twice.
 */
bool fields_read(char *line, size_t length, struct fields *fields);

/** Whether there is a member of this name. */
bool fields_has(const struct fields *fields, const char *name);

/** Take the member of this name and kind; each is taken once. Returns false if there is none. */
bool fields_text(struct fields *fields, const char *name, const char **text);
bool fields_number(struct fields *fields, const char *name, uint64_t *number);
bool fields_true(struct fields *fields, const char *name);

/** Take a text or null, which becomes NULL. */
bool fields_text_or_null(struct fields *fields, const char *name, const char **text);

/** Whether each member was taken: what this program does not know is refused, not ignored. */
bool fields_all_used(const struct fields *fields);

#endif
