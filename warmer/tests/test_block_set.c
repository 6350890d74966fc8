#include "block_set.h"
#include "check.h"
#include "random.h"

#include <stdlib.h>

static void adds_across_word_boundaries_and_counts_once(void) {
    struct block_set *set = block_set_create(300);
    block_set_add(set, 60, 140);
    block_set_add(set, 100, 10);
    CHECK_EQ(block_set_count(set), 140);
    CHECK(!block_set_contains(set, 59));
    CHECK(block_set_contains(set, 60));
    CHECK(block_set_contains(set, 199));
    CHECK(!block_set_contains(set, 200));
    CHECK(!block_set_contains(set, 5000));
    block_set_destroy(set);
}

static void next_walks_every_member_in_order(void) {
    struct block_set *set = block_set_create(1000);
    block_set_add(set, 0, 1);
    block_set_add(set, 63, 2);
    block_set_add(set, 999, 1);
    CHECK_EQ(block_set_next(set, 0), 0);
    CHECK_EQ(block_set_next(set, 1), 63);
    CHECK_EQ(block_set_next(set, 64), 64);
    CHECK_EQ(block_set_next(set, 65), 999);
    CHECK(block_set_next(set, 1000) == BLOCK_NONE);
    block_set_remove(set, 999);
    CHECK(block_set_next(set, 65) == BLOCK_NONE);
    block_set_destroy(set);
}

static void nth_agrees_with_next(void) {
    struct block_set *set = block_set_create(5000);
    struct random random = {7};
    for (unsigned i = 0; i < 400; i++) {
        block_set_add(set, random_below(&random, 5000), 1);
    }
    uint64_t block = block_set_next(set, 0);
    for (uint64_t rank = 0; rank < block_set_count(set); rank++) {
        CHECK_EQ(block_set_nth(set, rank), block);
        block = block_set_next(set, block + 1);
    }
    CHECK(block_set_nth(set, block_set_count(set)) == BLOCK_NONE);
    block_set_destroy(set);
}

static void remove_says_whether_it_was_there(void) {
    struct block_set *set = block_set_create(10);
    block_set_add(set, 4, 1);
    CHECK(block_set_remove(set, 4));
    CHECK(!block_set_remove(set, 4));
    CHECK(!block_set_remove(set, 400));
    CHECK_EQ(block_set_count(set), 0);
    block_set_destroy(set);
}

static void a_copy_is_independent(void) {
    struct block_set *set = block_set_create(100);
    block_set_add(set, 3, 5);
    struct block_set *copy = block_set_copy(set);
    block_set_remove(copy, 3);
    CHECK_EQ(block_set_count(set), 5);
    CHECK_EQ(block_set_count(copy), 4);
    block_set_destroy(copy);
    block_set_destroy(set);
}

static void the_last_block_may_be_partial(void) {
    uint64_t bytes = 3 * (uint64_t)BLOCK_BYTES + 777;
    struct block_set *set = block_set_create(blocks_of_bytes(bytes));
    CHECK_EQ(block_set_capacity(set), 4);
    CHECK_EQ(block_length(2, bytes), BLOCK_BYTES);
    CHECK_EQ(block_length(3, bytes), 777);
    block_set_add(set, 0, 4);
    CHECK_EQ(block_set_bytes(set, bytes), bytes);
    block_set_remove(set, 3);
    CHECK_EQ(block_set_bytes(set, bytes), 3 * BLOCK_BYTES);
    block_set_destroy(set);
}

static void the_largest_volume_takes_16_mib(void) {
    uint64_t blocks = UINT64_C(64) << 40 >> 19;
    struct block_set *set = block_set_create(blocks);
    CHECK(set != NULL);
    block_set_add(set, 0, blocks);
    CHECK_EQ(block_set_count(set), 134217728);
    CHECK_EQ(block_set_next(set, blocks - 1), blocks - 1);
    CHECK_EQ(block_set_bytes(set, UINT64_C(64) << 40), UINT64_C(64) << 40);
    block_set_destroy(set);
}

int main(void) {
    RUN(adds_across_word_boundaries_and_counts_once);
    RUN(next_walks_every_member_in_order);
    RUN(nth_agrees_with_next);
    RUN(remove_says_whether_it_was_there);
    RUN(a_copy_is_independent);
    RUN(the_last_block_may_be_partial);
    RUN(the_largest_volume_takes_16_mib);
    return CHECK_RESULT();
}
