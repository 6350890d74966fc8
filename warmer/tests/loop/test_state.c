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
    CHECK_EQ(state_subtract(state, wanted, done), 0);
    CHECK_EQ(block_set_count(wanted), 994);
    CHECK_EQ(block_set_count(done), 2);
    CHECK(!block_set_contains(wanted, 7) && block_set_contains(done, 7) && block_set_contains(done, 1000));
    block_set_destroy(wanted);
    block_set_destroy(done);
    state_close(state);
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
    CHECK_EQ(status.st_size, 4096 + 126);
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
    char zeros[4096 + 126] = {0};
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
    expect_refusal(&volume, "Too many levels of symbolic links");
    unlink(path);
}

int main(void) {
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(path, sizeof path, "%s/state", folder);
    RUN(what_is_remembered_is_taken_out_the_next_time);
    RUN(the_depth_is_remembered_too);
    RUN(the_file_is_private_and_small);
    RUN(another_device_is_refused);
    RUN(what_is_no_state_file_is_left_alone);
    RUN(zeros_of_another_size_are_left_alone);
    RUN(a_cut_file_is_refused);
    RUN(a_file_whose_making_was_cut_off_is_made_again);
    RUN(a_second_user_is_refused);
    RUN(links_are_not_followed);
    rmdir(folder);
    return CHECK_RESULT();
}
