/** Counts of writes: what is read of a text, and what is equal. */
#include "check.h"
#include "device/writes.h"

#define BOOT "0f5b2c1e-5d1c-4c57-9a55-1b2f3c4d5e6f"

static void boot_id_sectors_and_requests_are_read(void) {
    struct writes writes;
    CHECK(writes_parse(BOOT ",18446744073709551615,7", &writes));
    CHECK_TEXT(writes.boot_id, BOOT);
    CHECK(writes.sectors == UINT64_MAX && writes.requests == 7 && writes.is_counted);
}

static void anything_else_is_refused(void) {
    static const char *const texts[] = {
        "",           BOOT,         BOOT ",1",       BOOT ",1,", BOOT ",1,2,3",
        BOOT ",-1,2", BOOT ",1,2 ", "x" BOOT ",1,2", ",1,2",     BOOT ",18446744073709551616,2",
        BOOT "0,1,2"};
    struct writes writes;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CHECK(!writes_parse(texts[i], &writes));
    }
}

static void only_equal_counts_of_one_boot_are_equal(void) {
    struct writes one = {BOOT, true, 5, 6};
    struct writes other = one;
    CHECK(writes_are_equal(&one, &other));
    other.sectors++;
    CHECK(!writes_are_equal(&one, &other));
    other = one;
    other.requests--;
    CHECK(!writes_are_equal(&one, &other));
    other = one;
    other.boot_id[0] = '1';
    CHECK(!writes_are_equal(&one, &other));
    other = one;
    other.is_counted = false;
    CHECK(!writes_are_equal(&one, &other));
    one.boot_id[0] = other.boot_id[0] = '\0';
    other.is_counted = true;
    CHECK(!writes_are_equal(&one, &other));
}

/** A volume that was detached, and written to elsewhere, begins with the same count. */
static void counts_of_no_write_prove_nothing(void) {
    struct writes one = {BOOT, true, 0, 0};
    struct writes other = one;
    CHECK(!writes_are_equal(&one, &other));
}

int main(void) {
    RUN(boot_id_sectors_and_requests_are_read);
    RUN(anything_else_is_refused);
    RUN(only_equal_counts_of_one_boot_are_equal);
    RUN(counts_of_no_write_prove_nothing);
    return CHECK_RESULT();
}
