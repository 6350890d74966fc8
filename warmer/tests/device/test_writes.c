/** Counts of writes: what is read of a text, and what is equal. */
#include "check.h"
#include "device/writes.h"

#define BOOT "0f5b2c1e-5d1c-4c57-9a55-1b2f3c4d5e6f"

static void what_a_result_says_is_read(void) {
    struct writes writes;
    CHECK(writes_parse(BOOT ",18446744073709551615,7,9", &writes));
    CHECK_TEXT(writes.boot_id, BOOT);
    CHECK(writes.sectors == UINT64_MAX && writes.requests == 7 && writes.sequence == 9 && writes.is_counted);
}

static void anything_else_is_refused(void) {
    static const char *const texts[] = {"",
                                        BOOT,
                                        BOOT ",1",
                                        BOOT ",1,2",
                                        BOOT ",1,2,",
                                        BOOT ",1,2,3,4",
                                        BOOT ",-1,2,3",
                                        BOOT ",1,2,3 ",
                                        "x" BOOT ",1,2,3",
                                        ",1,2,3",
                                        BOOT ",18446744073709551616,2,3",
                                        BOOT "0,1,2,3"};
    struct writes writes;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CHECK(!writes_parse(texts[i], &writes));
    }
}

static void only_equal_counts_of_one_attachment_are_equal(void) {
    struct writes one = {BOOT, true, true, 5, 6, 7};
    struct writes other = one;
    CHECK(writes_are_equal(&one, &other));
    other.sectors++;
    CHECK(!writes_are_equal(&one, &other));
    other = one;
    other.requests--;
    CHECK(!writes_are_equal(&one, &other));
    other = one;
    other.sequence++;
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

static void bytes_between_two_counts_are_known_where_both_are_of_one_device(void) {
    const struct writes before = {BOOT, true, false, 5, 6, 7};
    struct writes after = {BOOT, true, false, 9, 8, 7};
    uint64_t bytes = 0;
    CHECK(writes_between(&before, &before, &bytes));
    CHECK_EQ(bytes, 0);
    CHECK(writes_between(&before, &after, &bytes));
    CHECK_EQ(bytes, 4 * 512);
    CHECK(!writes_between(&after, &before, &bytes));
    after.sequence++;
    CHECK(!writes_between(&before, &after, &bytes));
    after.sequence--;
    after.has_counts = false;
    CHECK(!writes_between(&before, &after, &bytes));
    CHECK(!writes_between(&after, &before, &bytes));
}

int main(void) {
    RUN(what_a_result_says_is_read);
    RUN(anything_else_is_refused);
    RUN(only_equal_counts_of_one_attachment_are_equal);
    RUN(bytes_between_two_counts_are_known_where_both_are_of_one_device);
    return CHECK_RESULT();
}
