#include "check.h"
#include "loop/state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICE_BYTES (1000 * (uint64_t)BLOCK_BYTES + 5)

static char folder[] = "/tmp/warmer-state-XXXXXX";
static char path[64];
static const struct state_identity volume = {DEVICE_BYTES, "vol-0123456789abcdef0"};

static struct state *open_state(const struct state_identity *identity) {
    struct state *state = NULL;
    struct diag diag = {{0}};
    CHECK_EQ(state_open(path, identity, &state, &diag), 0);
    CHECK_TEXT(diag.text, "");
    return state;
}

static void expect_refusal(const struct state_identity *identity, const char *reason) {
    struct state *state = NULL;
    struct diag diag = {{0}};
    char expected[200];
    snprintf(expected, sizeof expected, "cannot use state file %s: %s", path, reason);
    CHECK_EQ(state_open(path, identity, &state, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, expected);
}

static void write_file(const char *text, size_t length) {
    FILE *stream = fopen(path, "wb");
    fwrite(text, 1, length, stream);
    fclose(stream);
}

static void what_is_remembered_is_taken_out_the_next_time(void) {
    struct state *state = open_state(&volume);
    state_remember(state, 0);
    state_remember(state, 7);
    state_remember(state, 1000);
    state_close(state);
    state = open_state(&volume);
    struct block_set *wanted = block_set_create(1001);
    block_set_add(wanted, 5, 996);
    struct block_set *done = block_set_create(1001);
    uint64_t damaged = 1;
    CHECK_EQ(state_subtract(state, wanted, done, &damaged), 0);
    CHECK_EQ(damaged, 0);
    CHECK_EQ(block_set_count(wanted), 994);
    CHECK_EQ(block_set_count(done), 2);
    CHECK(!block_set_contains(wanted, 7) && block_set_contains(done, 7) && block_set_contains(done, 1000));
    block_set_destroy(wanted);
    block_set_destroy(done);
    state_close(state);
    unlink(path);
}

/** Fill `length` bytes of the file from `offset`. */
static void damage(long offset, int byte, size_t length) {
    FILE *stream = fopen(path, "r+b");
    fseek(stream, offset, SEEK_SET);
    for (size_t i = 0; i < length; i++) {
        fputc(byte, stream);
    }
    fclose(stream);
}

/** How many blocks the file says are read, of all; the parts that were damaged go to `damaged`. */
static uint64_t blocks_read(uint64_t *damaged) {
    struct state *state = open_state(&volume);
    struct block_set *wanted = block_set_create(1001);
    block_set_add(wanted, 0, 1001);
    struct block_set *done = block_set_create(1001);
    CHECK_EQ(state_subtract(state, wanted, done, damaged), 0);
    uint64_t count = block_set_count(done);
    CHECK_EQ(block_set_count(wanted), 1001 - count);
    block_set_destroy(wanted);
    block_set_destroy(done);
    state_close(state);
    return count;
}

static void remember_all(void) {
    struct state *state = open_state(&volume);
    for (uint64_t block = 0; block <= 1000; block++) {
        state_remember(state, block);
    }
    state_close(state);
}

static void a_file_set_to_ones_claims_no_block(void) {
    uint64_t damaged = 0;
    state_close(open_state(&volume));
    damage(4096, 0xff, 256);
    CHECK_EQ(blocks_read(&damaged), 0);
    CHECK_EQ(damaged, 32);
    unlink(path);
}

static void the_blocks_of_a_damaged_part_are_read_again_and_no_others(void) {
    uint64_t damaged = 0;
    remember_all();
    CHECK_EQ(blocks_read(&damaged), 1001);
    CHECK_EQ(damaged, 0);
    damage(4096 + 8 * 3 + 1, 0x7f, 1);
    CHECK_EQ(blocks_read(&damaged), 1001 - 32);
    CHECK_EQ(damaged, 1);
    damage(4096 + 8 * 31 + 7, 0x55, 1);
    CHECK_EQ(blocks_read(&damaged), 1001 - 32 - 9);
    CHECK_EQ(damaged, 2);
    unlink(path);
}

static void a_part_in_another_place_is_damaged(void) {
    uint64_t damaged = 0;
    uint64_t part = 0;
    struct state *state = open_state(&volume);
    state_remember(state, 0);
    state_close(state);
    FILE *stream = fopen(path, "r+b");
    fseek(stream, 4096, SEEK_SET);
    CHECK_EQ(fread(&part, sizeof part, 1, stream), 1);
    fseek(stream, 4096 + 8 * 5, SEEK_SET);
    fwrite(&part, sizeof part, 1, stream);
    fclose(stream);
    CHECK_EQ(blocks_read(&damaged), 1);
    CHECK_EQ(damaged, 1);
    unlink(path);
}

static void a_damaged_part_is_mended_by_what_is_read(void) {
    uint64_t damaged = 0;
    remember_all();
    damage(4096, 0xff, 8);
    struct state *state = open_state(&volume);
    for (uint64_t block = 0; block < 32; block++) {
        state_remember(state, block);
    }
    state_close(state);
    CHECK_EQ(blocks_read(&damaged), 1001);
    CHECK_EQ(damaged, 0);
    unlink(path);
}

static void zeros_only_mean_that_blocks_are_read_again(void) {
    uint64_t damaged = 0;
    remember_all();
    damage(4096, 0, 80);
    CHECK_EQ(blocks_read(&damaged), 1001 - 320);
    CHECK_EQ(damaged, 0);
    unlink(path);
}

static void a_file_of_an_earlier_version_is_refused(void) {
    char file[4096 + 126] = "rewarm-warmer-1\n";
    write_file(file, sizeof file);
    expect_refusal(&volume, "an earlier version of this program wrote it, without checksums");
    unlink(path);
}

static void the_depth_is_remembered_too(void) {
    struct state *state = open_state(&volume);
    CHECK_EQ(state_depth(state), 0);
    state_remember_depth(state, 64);
    state_close(state);
    state = open_state(&volume);
    CHECK_EQ(state_depth(state), 64);
    state_close(state);
    unlink(path);
}

static void the_file_is_private_and_small(void) {
    struct stat status;
    state_close(open_state(&volume));
    CHECK_EQ(stat(path, &status), 0);
    CHECK_EQ(status.st_mode & 0777, 0600);
    CHECK_EQ(status.st_size, 4096 + 256);
    unlink(path);
}

static void another_device_is_refused(void) {
    struct state_identity bigger = {DEVICE_BYTES + 1, "vol-0123456789abcdef0"};
    struct state_identity other = {DEVICE_BYTES, "vol-0123456789abcdef1"};
    state_close(open_state(&volume));
    expect_refusal(&bigger, "it belongs to another device");
    expect_refusal(&other, "it belongs to another device");
    state_close(open_state(&volume));
    unlink(path);
}

static void what_is_no_state_file_is_left_alone(void) {
    write_file("precious data\n", 14);
    expect_refusal(&volume, "it is not a state file of this program");
    struct stat status;
    stat(path, &status);
    CHECK_EQ(status.st_size, 14);
    unlink(path);
}

static void zeros_of_another_size_are_left_alone(void) {
    char zeros[5000] = {0};
    write_file(zeros, sizeof zeros);
    expect_refusal(&volume, "it is not a state file of this program");
    unlink(path);
}

static void a_cut_file_is_refused(void) {
    state_close(open_state(&volume));
    CHECK_EQ(truncate(path, 4100), 0);
    expect_refusal(&volume, "it belongs to another device");
    unlink(path);
}

static void a_file_whose_making_was_cut_off_is_made_again(void) {
    char zeros[4096 + 256] = {0};
    write_file(zeros, sizeof zeros);
    struct state *state = open_state(&volume);
    state_remember(state, 1);
    state_close(state);
    state_close(open_state(&volume));
    unlink(path);
}

static void a_second_user_is_refused(void) {
    struct state *state = open_state(&volume);
    expect_refusal(&volume, "another warmer is using it");
    state_close(state);
    unlink(path);
}

static void links_are_not_followed(void) {
    CHECK_EQ(symlink("/tmp/somewhere-else", path), 0);
    expect_refusal(&volume,
                   "it is a symbolic link, or others can change one on the way: name the place that it "
                   "leads to");
    unlink(path);
}

/** Whoever can make names in the folder could have any file of root's written to, or let it wait. */
static void what_others_may_have_put_there_is_refused(void) {
    static const char reason[] = "it is not a regular file of this user's own with no other name";
    char other[200];
    struct stat status;
    snprintf(other, sizeof other, "%s/other", folder);
    write_file("", 0);
    CHECK_EQ(link(path, other), 0);
    expect_refusal(&volume, reason);
    CHECK_EQ(stat(other, &status), 0);
    CHECK_EQ(status.st_size, 0);
    unlink(path);
    unlink(other);
    CHECK_EQ(mkfifo(path, 0600), 0);
    expect_refusal(&volume, reason);
    struct state_watch *watch = state_watch_create(path, &volume);
    state_watch_look(watch);
    CHECK(!state_watch_is_there(watch));
    state_watch_destroy(watch);
    unlink(path);
    if (geteuid() == 0) {
        write_file("", 0);
        CHECK_EQ(chown(path, 65534, 65534), 0);
        expect_refusal(&volume, reason);
        unlink(path);
    }
}

static struct state_watch *watch_file(const struct state_identity *identity) {
    struct state_watch *watch = state_watch_create(path, identity);
    CHECK(watch != NULL && !state_watch_is_there(watch));
    return watch;
}

/** A look and a turn. */
static void catch_up(struct state_watch *watch) {
    state_watch_look(watch);
    state_watch_turn(watch);
}

static void a_watch_answers_by_its_last_look_but_one_until_it_turns(void) {
    struct state_watch *watch = watch_file(&volume);
    catch_up(watch);
    CHECK(!state_watch_is_there(watch) && !state_watch_has(watch, 7));
    struct state *state = open_state(&volume);
    state_remember(state, 7);
    catch_up(watch);
    CHECK(state_watch_is_there(watch));
    CHECK(state_watch_has(watch, 7) && !state_watch_has(watch, 39) && !state_watch_has(watch, 1000));
    state_remember(state, 1000);
    state_watch_look(watch);
    CHECK(state_watch_has(watch, 7) && !state_watch_has(watch, 1000));
    state_watch_turn(watch);
    CHECK(state_watch_has(watch, 7) && state_watch_has(watch, 1000) && !state_watch_has(watch, 5000));
    state_close(state);
    state_watch_destroy(watch);
    unlink(path);
}

static void a_watch_locks_nothing_and_reads_what_is_deleted_to_its_end(void) {
    struct state_watch *watch = watch_file(&volume);
    struct state *state = open_state(&volume);
    catch_up(watch);
    state_remember(state, 3);
    unlink(path);
    state_remember(state, 4);
    state_close(state);
    catch_up(watch);
    CHECK(state_watch_has(watch, 3) && state_watch_has(watch, 4));
    /* The next warm-up begins anew, and has read nothing yet. */
    state = open_state(&volume);
    catch_up(watch);
    CHECK(!state_watch_has(watch, 3));
    state_close(state);
    state_watch_destroy(watch);
    unlink(path);
}

static void a_watch_of_what_is_no_state_of_the_device_knows_nothing(void) {
    struct state_identity bigger = {DEVICE_BYTES + 64 * (uint64_t)BLOCK_BYTES, "vol-0123456789abcdef0"};
    struct state_identity other = {DEVICE_BYTES, "vol-0123456789abcdef1"};
    struct state *state = open_state(&volume);
    state_remember(state, 3);
    state_close(state);
    struct state_watch *watches[] = {watch_file(&bigger), watch_file(&other)};
    for (unsigned i = 0; i < 2; i++) {
        catch_up(watches[i]);
        CHECK(!state_watch_is_there(watches[i]) && !state_watch_has(watches[i], 3));
        state_watch_destroy(watches[i]);
    }
    write_file("precious data\n", 14);
    struct state_watch *watch = watch_file(&volume);
    catch_up(watch);
    CHECK(!state_watch_is_there(watch));
    state_watch_destroy(watch);
    unlink(path);
}

static void a_watch_keeps_what_it_knows_of_a_file_that_is_cut_or_damaged(void) {
    struct state_watch *watch = watch_file(&volume);
    remember_all();
    catch_up(watch);
    CHECK(state_watch_has(watch, 0) && state_watch_has(watch, 96));
    damage(4096 + 8 * 3 + 1, 0x7f, 1);
    catch_up(watch);
    CHECK(state_watch_has(watch, 0) && !state_watch_has(watch, 96));
    CHECK_EQ(truncate(path, 4100), 0);
    catch_up(watch);
    CHECK(state_watch_is_there(watch) && state_watch_has(watch, 0));
    catch_up(watch);
    CHECK(state_watch_has(watch, 0));
    state_watch_destroy(watch);
    unlink(path);
}

int main(void) {
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(path, sizeof path, "%s/state", folder);
    RUN(what_is_remembered_is_taken_out_the_next_time);
    RUN(a_file_set_to_ones_claims_no_block);
    RUN(the_blocks_of_a_damaged_part_are_read_again_and_no_others);
    RUN(a_part_in_another_place_is_damaged);
    RUN(a_damaged_part_is_mended_by_what_is_read);
    RUN(zeros_only_mean_that_blocks_are_read_again);
    RUN(a_file_of_an_earlier_version_is_refused);
    RUN(the_depth_is_remembered_too);
    RUN(the_file_is_private_and_small);
    RUN(another_device_is_refused);
    RUN(what_is_no_state_file_is_left_alone);
    RUN(zeros_of_another_size_are_left_alone);
    RUN(a_cut_file_is_refused);
    RUN(a_file_whose_making_was_cut_off_is_made_again);
    RUN(a_second_user_is_refused);
    RUN(links_are_not_followed);
    RUN(what_others_may_have_put_there_is_refused);
    RUN(a_watch_answers_by_its_last_look_but_one_until_it_turns);
    RUN(a_watch_locks_nothing_and_reads_what_is_deleted_to_its_end);
    RUN(a_watch_of_what_is_no_state_of_the_device_knows_nothing);
    RUN(a_watch_keeps_what_it_knows_of_a_file_that_is_cut_or_damaged);
    rmdir(folder);
    return CHECK_RESULT();
}
