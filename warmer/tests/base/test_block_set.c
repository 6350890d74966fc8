#include "base/block_set.h"
#include "base/random.h"
#include "check.h"

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
    block_set_remove(set, 999, 1);
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

static void what_is_removed_is_no_longer_in(void) {
    struct block_set *set = block_set_create(5000);
    CHECK_EQ(block_set_add(set, 4, 3000), 0);
    CHECK_EQ(block_set_remove(set, 5, 1), 0);
    CHECK_EQ(block_set_remove(set, 5, 1), 0);
    CHECK_EQ(block_set_remove(set, 1000, 2000), 0);
    CHECK_EQ(block_set_count(set), 999);
    CHECK_EQ(block_set_next(set, 5), 6);
    CHECK_EQ(block_set_next(set, 1000), 3000);
    CHECK(block_set_next_before(set, 1000, 3000) == BLOCK_NONE);
    CHECK_EQ(block_set_next_before(set, 1000, 3001), 3000);
    CHECK_EQ(block_set_remove(set, 0, 5000), 0);
    CHECK_EQ(block_set_count(set), 0);
    CHECK(block_set_next(set, 0) == BLOCK_NONE);
    block_set_destroy(set);
}

static void a_copy_is_independent(void) {
    struct block_set *set = block_set_create(3000);
    block_set_add(set, 3, 2000);
    struct block_set *copy = block_set_copy(set);
    block_set_remove(copy, 3, 1);
    block_set_remove(copy, 1500, 1);
    CHECK_EQ(block_set_count(set), 2000);
    CHECK_EQ(block_set_count(copy), 1998);
    CHECK(block_set_contains(set, 1500) && !block_set_contains(copy, 1500));
    block_set_destroy(copy);
    block_set_destroy(set);
}

#define MODEL_BLOCKS 7003u

/** A set, and the same as plain flags. */
struct model {
    struct block_set *set;
    bool flags[MODEL_BLOCKS];
};

static void expect_equal(const struct model *model) {
    uint64_t count = 0;
    uint64_t next = block_set_next(model->set, 0);
    for (uint64_t block = 0; block < MODEL_BLOCKS; block++) {
        CHECK_EQ(block_set_contains(model->set, block), model->flags[block]);
        if (model->flags[block]) {
            CHECK_EQ(next, block);
            next = block_set_next(model->set, block + 1);
            count++;
        }
    }
    CHECK(next == BLOCK_NONE);
    CHECK_EQ(block_set_count(model->set), count);
}

/** A run of any length, often one that begins or ends where 1,024 blocks do. */
static void random_run(struct random *random, uint64_t *start, uint64_t *count) {
    *start = random_below(random, MODEL_BLOCKS);
    *count = random_below(random, 4) == 0 ? 1 : 1 + random_below(random, MODEL_BLOCKS - *start);
    if (random_below(random, 3) == 0) {
        *start -= *start % 1024;
        *count = 1024 * (1 + random_below(random, 3));
    }
    *count = *count < MODEL_BLOCKS - *start ? *count : MODEL_BLOCKS - *start;
}

static void set_flags(struct model *model, uint64_t start, uint64_t count, bool flag) {
    for (uint64_t block = start; block < start + count; block++) {
        model->flags[block] = flag;
    }
}

static void any_changes_leave_what_plain_flags_say(void) {
    static struct model model;
    struct random random = {11};
    model.set = block_set_create(MODEL_BLOCKS);
    for (unsigned step = 0; step < 600; step++) {
        uint64_t start = 0;
        uint64_t count = 0;
        random_run(&random, &start, &count);
        uint64_t kind = random_below(&random, 5);
        if (kind < 2) {
            CHECK_EQ(block_set_add(model.set, start, count), 0);
            set_flags(&model, start, count, true);
        } else if (kind < 4) {
            CHECK_EQ(block_set_remove(model.set, start, count), 0);
            set_flags(&model, start, count, false);
        } else {
            CHECK_EQ(block_set_reserve(model.set, start, count), 0);
        }
        expect_equal(&model);
    }
    block_set_destroy(model.set);
}

/** Two sets made of random runs, as sets and as flags. */
static void make_two(struct model *one, struct model *other, struct random *random) {
    struct model *models[] = {one, other};
    for (unsigned i = 0; i < 2; i++) {
        memset(models[i]->flags, 0, sizeof models[i]->flags);
        models[i]->set = block_set_create(MODEL_BLOCKS);
        for (unsigned run = 0; run < 4; run++) {
            uint64_t start = 0;
            uint64_t count = 0;
            random_run(random, &start, &count);
            block_set_add(models[i]->set, start, count);
            set_flags(models[i], start, count, true);
        }
    }
}

static void two_sets_have_in_common_what_both_have(void) {
    static struct model one, other;
    struct random random = {12};
    for (unsigned turn = 0; turn < 50; turn++) {
        make_two(&one, &other, &random);
        CHECK_EQ(block_set_intersect(one.set, other.set), 0);
        for (unsigned block = 0; block < MODEL_BLOCKS; block++) {
            one.flags[block] &= other.flags[block];
        }
        expect_equal(&one);
        expect_equal(&other);
        block_set_destroy(one.set);
        block_set_destroy(other.set);
    }
}

static void what_is_moved_is_in_the_other_set(void) {
    static struct model one, done;
    static uint8_t bits[(MODEL_BLOCKS + 7) / 8];
    struct random random = {13};
    for (unsigned turn = 0; turn < 50; turn++) {
        static struct model read;
        make_two(&one, &read, &random);
        done.set = block_set_create(MODEL_BLOCKS);
        memset(bits, 0, sizeof bits);
        for (unsigned block = 0; block < MODEL_BLOCKS; block++) {
            bits[block / 8] |= (uint8_t)(read.flags[block] << block % 8);
            done.flags[block] = one.flags[block] && read.flags[block];
            one.flags[block] &= !read.flags[block];
        }
        /* In two pieces, the second of which begins at a multiple of 1,024. */
        CHECK_EQ(block_set_move(one.set, 0, bits, 256, done.set), 0);
        CHECK_EQ(block_set_move(one.set, 2048, bits + 256, sizeof bits - 256, done.set), 0);
        expect_equal(&one);
        expect_equal(&done);
        block_set_destroy(one.set);
        block_set_destroy(read.set);
        block_set_destroy(done.set);
    }
}

static void the_last_block_may_be_partial(void) {
    uint64_t bytes = 3 * (uint64_t)BLOCK_BYTES + 777;
    struct block_set *set = block_set_create(blocks_of_bytes(bytes));
    CHECK_EQ(block_set_capacity(set), 4);
    CHECK_EQ(block_length(2, bytes), BLOCK_BYTES);
    CHECK_EQ(block_length(3, bytes), 777);
    block_set_add(set, 0, 4);
    CHECK_EQ(block_set_bytes(set, bytes), bytes);
    block_set_remove(set, 3, 1);
    CHECK_EQ(block_set_bytes(set, bytes), 3 * BLOCK_BYTES);
    block_set_destroy(set);
}

static void the_largest_volume_is_one_set(void) {
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
    RUN(what_is_removed_is_no_longer_in);
    RUN(any_changes_leave_what_plain_flags_say);
    RUN(two_sets_have_in_common_what_both_have);
    RUN(what_is_moved_is_in_the_other_set);
    RUN(a_copy_is_independent);
    RUN(the_last_block_may_be_partial);
    RUN(the_largest_volume_is_one_set);
    return CHECK_RESULT();
}
