#include "base/random.h"
#include "check.h"
#include "plan/plan.h"

#include <string.h>

static struct block_set *set_of(uint64_t capacity, uint64_t start, uint64_t count) {
    struct block_set *set = block_set_create(capacity);
    block_set_add(set, start, count);
    return set;
}

static struct plan *plan_of(const struct block_set *wanted, const struct extents *first) {
    struct plan *plan = plan_create(wanted);
    CHECK(first == NULL || plan_put_first(plan, first) == 0);
    return plan;
}

/** Compare what the plan gives with `expected`, then expect its end. */
static void expect_order(struct plan *plan, const uint64_t *expected, size_t length) {
    CHECK_EQ(plan_remaining(plan), length);
    for (size_t i = 0; i < length; i++) {
        CHECK_EQ(plan_next(plan), expected[i]);
    }
    CHECK(plan_next(plan) == BLOCK_NONE);
    CHECK(plan_next(plan) == BLOCK_NONE);
    CHECK_EQ(plan_remaining(plan), 0);
    plan_destroy(plan);
}

static void gives_each_block_once_in_order(void) {
    struct block_set *wanted = set_of(100, 5, 3);
    block_set_add(wanted, 99, 1);
    const uint64_t expected[] = {5, 6, 7, 99};
    expect_order(plan_of(wanted, NULL), expected, 4);
    CHECK_EQ(block_set_count(wanted), 4);
    block_set_destroy(wanted);
}

static void gives_the_first_extents_first_in_their_own_order(void) {
    struct block_set *wanted = set_of(100, 10, 10);
    struct extents first = {0};
    extents_append(&first, 18, 1);
    extents_append(&first, 12, 2);
    const uint64_t expected[] = {18, 12, 13, 10, 11, 14, 15, 16, 17, 19};
    expect_order(plan_of(wanted, &first), expected, 10);
    extents_clear(&first);
    block_set_destroy(wanted);
}

static void leaves_out_first_blocks_that_nobody_wrote(void) {
    struct block_set *wanted = set_of(100, 10, 3);
    struct extents first = {0};
    extents_append(&first, 50, 50);
    extents_append(&first, 0, 11);
    extents_append(&first, 5, 7);
    const uint64_t expected[] = {10, 11, 12};
    expect_order(plan_of(wanted, &first), expected, 3);
    extents_clear(&first);
    block_set_destroy(wanted);
}

static void an_empty_plan_ends_at_once(void) {
    struct block_set *wanted = block_set_create(64);
    expect_order(plan_of(wanted, NULL), NULL, 0);
    block_set_destroy(wanted);
}

static void gives_neighbours_together_but_for_what_is_first(void) {
    struct block_set *wanted = set_of(100, 10, 5);
    block_set_add(wanted, 16, 1);
    struct extents first = {0};
    extents_append(&first, 11, 2);
    struct plan *plan = plan_of(wanted, &first);
    const uint64_t starts[] = {11, 10, 13, 16, BLOCK_NONE};
    const uint32_t counts[] = {2, 1, 2, 1, 0};
    for (size_t i = 0; i < 5; i++) {
        uint32_t count = 99;
        CHECK_EQ(plan_next_run(plan, 2, &count), starts[i]);
        CHECK_EQ(count, counts[i]);
    }
    plan_destroy(plan);
    extents_clear(&first);
    block_set_destroy(wanted);
}

static void what_is_put_first_later_comes_next(void) {
    struct block_set *wanted = set_of(5000, 10, 4000);
    struct extents first = {0};
    struct extents second = {0};
    struct extents third = {0};
    extents_append(&first, 3000, 1);
    extents_append(&second, 10, 4);
    extents_append(&second, 2998, 4);
    extents_append(&third, 2999, 2000);
    struct plan *plan = plan_of(wanted, &first);
    uint32_t count = 0;
    CHECK_EQ(plan_next(plan), 3000);
    CHECK_EQ(plan_next(plan), 10);
    CHECK_EQ(plan_next_run(plan, 2, &count), 11);
    CHECK_EQ(count, 2);
    CHECK_EQ(plan_put_first(plan, &second), 0);
    const uint64_t next[] = {13, 2998, 2999};
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(plan_next(plan), next[i]);
    }
    CHECK_EQ(plan_put_first(plan, &third), 0);
    for (uint64_t block = 3001; block < 4010; block++) {
        CHECK_EQ(plan_next(plan), block);
    }
    for (uint64_t block = 14; block < 2998; block++) {
        CHECK_EQ(plan_next_run(plan, 1, &count), block);
    }
    CHECK(plan_next(plan) == BLOCK_NONE);
    CHECK_EQ(plan_put_first(plan, &second), 0);
    CHECK(plan_next(plan) == BLOCK_NONE);
    CHECK_EQ(plan_remaining(plan), 0);
    plan_destroy(plan);
    extents_clear(&first);
    extents_clear(&second);
    extents_clear(&third);
    block_set_destroy(wanted);
}

static void counts_the_blocks_that_were_asked_for_first(void) {
    struct block_set *wanted = set_of(5000, 10, 100);
    struct extents asked = {0};
    struct extents metadata = {0};
    extents_append(&asked, 100, 50);
    extents_append(&asked, 0, 12);
    extents_append(&metadata, 11, 5);
    CHECK_EQ(plan_count(&asked, wanted), 12);
    struct plan *plan = plan_create(wanted);
    CHECK_EQ(plan_put_leading(plan, &asked), 0);
    CHECK_EQ(plan_put_first(plan, &metadata), 0);
    uint32_t count = 0;
    for (uint64_t left = 12; left > 0; left -= count) {
        CHECK_EQ(plan_leading(plan), left);
        CHECK_EQ(plan_next_run(plan, 3, &count), left > 2 ? 112 - left : 10);
        CHECK_EQ(count, left > 2 ? (left == 3 ? 1 : 3) : 2);
    }
    CHECK_EQ(plan_leading(plan), 0);
    CHECK_EQ(plan_next(plan), 12);
    CHECK_EQ(plan_leading(plan), 0);
    plan_destroy(plan);
    extents_clear(&asked);
    extents_clear(&metadata);
    block_set_destroy(wanted);
}

/** What a list says block by block: the blocks in the order in which each is named first. */
static size_t first_named(const struct extents *list, uint64_t capacity, uint64_t *order) {
    size_t count = 0;
    struct block_set *seen = block_set_create(capacity);
    for (size_t i = 0; i < list->length; i++) {
        for (uint64_t block = list->items[i].start; block < list->items[i].start + list->items[i].count;
             block++) {
            if (!block_set_contains(seen, block)) {
                block_set_add(seen, block, 1);
                order[count++] = block;
            }
        }
    }
    block_set_destroy(seen);
    return count;
}

/** Cut the list of 40 + 5, 12 + 3, 0 + 11 to `most` blocks of 10 to 19, and count what it names then. */
static void expect_shortened(uint64_t most, uint64_t named, uint64_t wanted_of_them) {
    struct block_set *wanted = set_of(100, 10, 10);
    struct extents list = {0};
    extents_append(&list, 40, 5);
    extents_append(&list, 12, 3);
    extents_append(&list, 0, 11);
    plan_shorten(&list, wanted, most);
    uint64_t count = 0;
    for (size_t i = 0; i < list.length; i++) {
        CHECK(list.items[i].count > 0);
        count += list.items[i].count;
    }
    CHECK_EQ(count, named);
    CHECK_EQ(plan_count(&list, wanted), wanted_of_them);
    extents_clear(&list);
    block_set_destroy(wanted);
}

static void shortens_a_list_by_the_blocks_that_are_wanted(void) {
    expect_shortened(UINT64_MAX, 19, 4);
    expect_shortened(4, 19, 4);
    expect_shortened(3, 18, 3);
    expect_shortened(2, 7, 2);
    expect_shortened(0, 5, 0);
    struct extents none = {0};
    struct block_set *wanted = set_of(100, 10, 10);
    plan_shorten(&none, wanted, 0);
    CHECK_EQ(none.length, 0);
    block_set_destroy(wanted);
}

static void keeps_each_block_where_it_is_named_first(void) {
    struct random random = {7};
    for (unsigned trial = 0; trial < 300; trial++) {
        struct extents list = {0};
        uint64_t before[200];
        uint64_t after[200];
        unsigned runs = (unsigned)random_below(&random, 30);
        for (unsigned i = 0; i < runs; i++) {
            uint64_t start = random_below(&random, 190);
            extents_append(&list, start, 1 + random_below(&random, trial % 9 == 0 ? 200 - start : 10));
        }
        size_t count = first_named(&list, 200, before);
        CHECK_EQ(extents_keep_first(&list), 0);
        uint64_t length = 0;
        for (size_t i = 0; i < list.length; i++) {
            length += list.items[i].count;
        }
        CHECK_EQ(length, count);
        CHECK_EQ(first_named(&list, 200, after), count);
        CHECK(memcmp(before, after, count * sizeof *before) == 0);
        extents_clear(&list);
    }
}

/** The whole device a quarter of a million times: each block is still looked at once. */
static void many_lists_of_the_same_cost_no_more_than_one(void) {
    const uint64_t blocks = UINT64_C(134217728);
    struct extents list = {0};
    for (uint64_t i = 0; i < 262144; i++) {
        extents_append(&list, i % 2 == 0 ? 1 : 0, blocks - 1 - i);
    }
    CHECK_EQ(list.length, 262144);
    CHECK_EQ(extents_keep_first(&list), 0);
    CHECK_EQ(list.length, 2);
    CHECK_EQ(list.items[0].count, blocks - 1);
    CHECK_EQ(list.items[1].start, 0);
    extents_clear(&list);
}

static void a_run_ends_before_a_block_that_was_given(void) {
    struct block_set *wanted = set_of(100, 10, 5);
    struct extents first = {0};
    extents_append(&first, 12, 1);
    struct plan *plan = plan_of(wanted, &first);
    uint32_t count = 0;
    CHECK_EQ(plan_next(plan), 12);
    CHECK_EQ(plan_next_run(plan, 8, &count), 10);
    CHECK_EQ(count, 2);
    CHECK_EQ(plan_next_run(plan, 8, &count), 13);
    CHECK_EQ(count, 2);
    CHECK_EQ(plan_remaining(plan), 0);
    plan_destroy(plan);
    extents_clear(&first);
    block_set_destroy(wanted);
}

static void extents_join_sort_and_stay_apart(void) {
    struct extents list = {0};
    extents_append(&list, 7, 1);
    extents_append(&list, 8, 2);
    CHECK_EQ(list.length, 1);
    extents_append(&list, 1, 1);
    extents_append(&list, 20, 1);
    extents_append(&list, 2, 5);
    extents_sort(&list);
    CHECK_EQ(list.length, 2);
    CHECK_EQ(list.items[0].start, 1);
    CHECK_EQ(list.items[0].count, 9);
    CHECK_EQ(list.items[1].start, 20);
    extents_clear(&list);
    extents_sort(&list);
    CHECK_EQ(list.length, 0);
}

int main(void) {
    RUN(gives_each_block_once_in_order);
    RUN(gives_the_first_extents_first_in_their_own_order);
    RUN(leaves_out_first_blocks_that_nobody_wrote);
    RUN(an_empty_plan_ends_at_once);
    RUN(gives_neighbours_together_but_for_what_is_first);
    RUN(what_is_put_first_later_comes_next);
    RUN(counts_the_blocks_that_were_asked_for_first);
    RUN(shortens_a_list_by_the_blocks_that_are_wanted);
    RUN(keeps_each_block_where_it_is_named_first);
    RUN(many_lists_of_the_same_cost_no_more_than_one);
    RUN(a_run_ends_before_a_block_that_was_given);
    RUN(extents_join_sort_and_stay_apart);
    return CHECK_RESULT();
}
