/** Choosing an engine, and devices that cannot be opened. */
#include "base/block_set.h"
#include "check.h"
#include "device/identity.h"
#include "engines/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int refuse(const struct engine_settings *settings, struct engine **opened) {
    (void)opened;
    return -(int)settings->max_in_flight;
}

static int accept(const struct engine_settings *settings, struct engine **opened) {
    static struct engine engine;
    (void)settings;
    *opened = &engine;
    return 0;
}

static const struct engine_ops first = {.name = "first", .open = refuse};
static const struct engine_ops second = {.name = "second", .open = refuse};
static const struct engine_ops last = {.name = "last", .open = accept};
/* Takes the place of the build's own table. */
const struct engine_ops *const engine_table[] = {&first, &second, &last, NULL};

static void auto_takes_the_first_that_works_and_says_why(void) {
    struct engine_settings settings = {.max_in_flight = EPERM};
    struct engine *engine = NULL;
    struct diag diag = {{0}};
    char note[128];
    CHECK_EQ(engine_open("auto", &settings, &engine, note, sizeof note, &diag), 0);
    CHECK(engine != NULL);
    CHECK_TEXT(note, "first refused: Operation not permitted; second refused: Operation not permitted");
}

static void an_engine_asked_for_by_name_is_not_replaced(void) {
    struct engine_settings settings = {.max_in_flight = ENOSYS};
    struct engine *engine = NULL;
    struct diag diag = {{0}};
    char note[128];
    CHECK_EQ(engine_open("second", &settings, &engine, note, sizeof note, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot use engine second: Function not implemented");
    CHECK_EQ(engine_open("last", &settings, &engine, note, sizeof note, &diag), 0);
    CHECK_TEXT(note, "");
    CHECK_EQ(engine_open("none", &settings, &engine, note, sizeof note, &diag), WARMER_USAGE);
}

static void what_is_no_device_is_refused(void) {
    struct device *device = NULL;
    struct diag diag = {{0}};
    char path[] = "/tmp/warmer-empty-XXXXXX";
    close(mkstemp(path));
    CHECK_EQ(device_open("/tmp", &device, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot open /tmp: neither a block device nor a regular file");
    CHECK_EQ(device_open("/dev/null", &device, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot open /dev/null: neither a block device nor a regular file");
    CHECK_EQ(device_open("/nonexistent", &device, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot open /nonexistent: No such file or directory");
    CHECK_EQ(device_open(path, &device, &diag), WARMER_CANNOT_OPEN);
    CHECK(strstr(diag.text, "it holds no bytes") != NULL);
    unlink(path);
}

static void volume_ids_are_found_where_ebs_puts_them(void) {
    char id[32];
    CHECK(identity_volume_id("vol0123456789abcdef0", id, sizeof id));
    CHECK_TEXT(id, "vol-0123456789abcdef0");
    CHECK(identity_volume_id("/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0a400000000000001_1", id,
                             sizeof id));
    CHECK_TEXT(id, "vol-0a400000000000001");
    CHECK(identity_volume_id("nvme-Amazon_Elastic_Block_Store_vol1a2b3c4d", id, sizeof id));
    CHECK_TEXT(id, "vol-1a2b3c4d");
    CHECK(identity_volume_id("/volumes/vol-0123456789abcdef0/image", id, sizeof id));
    CHECK_TEXT(id, "vol-0123456789abcdef0");
    CHECK(!identity_volume_id("/volumes/disk", id, sizeof id));
    CHECK(!identity_volume_id("vol0123456789abcdef01", id, sizeof id));
    CHECK(!identity_volume_id("volABCDEF0123456789A", id, sizeof id));
}

int main(void) {
    RUN(auto_takes_the_first_that_works_and_says_why);
    RUN(an_engine_asked_for_by_name_is_not_replaced);
    RUN(what_is_no_device_is_refused);
    RUN(volume_ids_are_found_where_ebs_puts_them);
    return CHECK_RESULT();
}
