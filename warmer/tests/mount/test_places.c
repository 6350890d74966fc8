/** Options of a request, of whatever length, leave fstab's and our own in force. */
#include "check.h"
#include "mount/mount_options.h"
#include "mount/places_linux.h"

#include <string.h>

#define FSTAB_OF_NOBODY "/proc/self/nothing-has-this-name"
#define POINT "/mnt/rewarm-folder-that-is-not-there"

static struct places places;
static char wished[PLACE_OPTIONS_BYTES];

/** Find the place with `count` times ro; the status. */
static int find(size_t count) {
    struct file_system file_system = {
        .volume_id = "vol-0123456789abcdef0", .kind = MOUNT_EXT, .type = "ext4"};
    struct mount_wish wish = {.path = POINT, .options = wished};
    struct diag diag = {{0}};
    wished[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        snprintf(wished + strlen(wished), sizeof wished - strlen(wished), "%sro", i == 0 ? "" : ",");
    }
    return places_find(FSTAB_OF_NOBODY, &file_system, &wish, &places, &diag);
}

static void no_length_of_a_request_leaves_out_our_own_options(void) {
    unsigned taken = 0;
    for (size_t count = 0; count < sizeof wished / 3; count += 31) {
        int status = find(count);
        CHECK(status == 0 || status == WARMER_NOT_MOUNTABLE);
        if (status == 0) {
            const char *options = places.items[0].options;
            taken++;
            CHECK(mount_options_have(options, "nosuid"));
            CHECK(mount_options_have(options, "nodev"));
            CHECK(mount_options_have(options, "errors"));
        }
    }
    CHECK(taken > 1);
}

static void a_path_that_is_too_long_is_not_cut_short(void) {
    static char path[2 * PLACE_PATH_BYTES] = "/mnt/";
    struct file_system file_system = {
        .volume_id = "vol-0123456789abcdef0", .kind = MOUNT_EXT, .type = "ext4"};
    struct mount_wish wish = {.path = path, .options = ""};
    struct diag diag = {{0}};
    memset(path + strlen(path), 'a', sizeof path - strlen(path) - 1);
    CHECK_EQ(places_find(FSTAB_OF_NOBODY, &file_system, &wish, &places, &diag), WARMER_NOT_MOUNTABLE);
}

int main(void) {
    RUN(no_length_of_a_request_leaves_out_our_own_options);
    RUN(a_path_that_is_too_long_is_not_cut_short);
    return CHECK_RESULT();
}
