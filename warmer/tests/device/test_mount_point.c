/** Drive letters and folders, with a table that plays Windows. */
#include "check.h"
#include "device/mount_point.h"

#include <errno.h>

#define VOLUME "\\\\?\\Volume{1}\\"
#define OTHER "\\\\?\\Volume{2}\\"

/** A disk: its volumes, what the first has, and which points Windows refuses. */
struct disk {
    unsigned volumes;
    struct texts points;
    struct texts refused;
    char calls[256];
};

static struct disk disk;

static void note(const char *verb, const char *point) {
    size_t used = strlen(disk.calls);
    snprintf(disk.calls + used, sizeof disk.calls - used, "%s %s;", verb, point);
}

static void find_volumes(void *context, struct texts *volumes) {
    (void)context;
    for (unsigned i = 0; i < disk.volumes; i++) {
        texts_add(volumes, "%s", i == 0 ? VOLUME : OTHER);
    }
}

static void find_points(void *context, const char *volume, struct texts *points) {
    (void)context;
    for (size_t i = 0; strcmp(volume, VOLUME) == 0 && i < disk.points.count; i++) {
        texts_add(points, "%s", disk.points.items[i]);
    }
}

static int add(void *context, const char *point, const char *volume) {
    (void)context;
    CHECK_TEXT(volume, VOLUME);
    note("add", point);
    return texts_has(&disk.refused, point) ? ENOTEMPTY : 0;
}

static int take_away(void *context, const char *point) {
    (void)context;
    note("remove", point);
    return texts_has(&disk.refused, "remove") ? EACCES : 0;
}

static const struct mount_table table = {NULL, find_volumes, find_points, add, take_away};

/** A disk with one volume, which is at `point`; NULL: nowhere. */
static void begin(const char *point) {
    disk = (struct disk){.volumes = 1};
    if (point != NULL) {
        texts_add(&disk.points, "%s", point);
    }
}

static int give(const char *wished, struct diag *diag) {
    *diag = (struct diag){{0}};
    return mount_point_give(&table, wished, diag);
}

static void a_volume_without_a_letter_gets_the_wished_one(void) {
    struct diag diag;
    begin(NULL);
    CHECK_EQ(give("E:", &diag), 0);
    CHECK_TEXT(disk.calls, "add E:\\;");
}

static void a_volume_that_has_it_is_left_alone(void) {
    struct diag diag;
    begin("E:\\");
    CHECK_EQ(give("e:", &diag), 0);
    CHECK_EQ(give("E:\\", &diag), 0);
    CHECK_TEXT(disk.calls, "");
}

static void another_letter_makes_room(void) {
    struct diag diag;
    begin("F:\\");
    CHECK_EQ(give("E:", &diag), 0);
    CHECK_TEXT(disk.calls, "remove F:\\;add E:\\;");
}

static void a_folder_comes_beside_the_letter(void) {
    struct diag diag;
    begin("F:\\");
    CHECK_EQ(give("D:\\data", &diag), 0);
    CHECK_TEXT(disk.calls, "add D:\\data\\;");
}

static void a_letter_comes_beside_the_folder(void) {
    struct diag diag;
    begin("D:\\data\\");
    CHECK_EQ(give("E:", &diag), 0);
    CHECK_TEXT(disk.calls, "add E:\\;");
}

static void a_letter_that_cannot_be_had_leaves_the_other(void) {
    struct diag diag;
    begin("F:\\");
    texts_add(&disk.refused, "E:\\");
    CHECK_EQ(give("E:", &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot mount the volume at E:\\: Directory not empty");
    CHECK_TEXT(disk.calls, "remove F:\\;add E:\\;add F:\\;");
    texts_add(&disk.refused, "F:\\");
    CHECK_EQ(give("E:", &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot mount the volume at E:\\: Directory not empty; it has lost F:\\");
}

static void a_letter_that_stays_is_said(void) {
    struct diag diag;
    begin("F:\\");
    texts_add(&disk.refused, "remove");
    CHECK_EQ(give("E:", &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot take F:\\ away: Permission denied");
    CHECK_TEXT(disk.calls, "remove F:\\;");
}

static void only_one_volume_can_be_meant(void) {
    struct diag diag;
    begin(NULL);
    disk.volumes = 2;
    CHECK_EQ(give("E:", &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot mount the disk at E:\\: Windows shows 2 volumes on it, and needs one");
    disk.volumes = 0;
    CHECK_EQ(give("E:", &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(disk.calls, "");
    disk.volumes = 2;
    texts_add(&disk.points, "E:\\");
    CHECK_EQ(give("E:", &diag), 0);
}

static void paths_begin_with_a_letter(void) {
    CHECK(mount_point_is_valid("E:") && mount_point_is_valid("e:\\") && mount_point_is_valid("E:\\a b\\c"));
    CHECK(!mount_point_is_valid("") && !mount_point_is_valid("E") && !mount_point_is_valid("/mnt"));
    CHECK(!mount_point_is_valid("E:data") && !mount_point_is_valid("E:/data"));
    CHECK(!mount_point_is_valid("\\\\server\\share") && !mount_point_is_valid("E:\\a?"));
}

int main(void) {
    RUN(a_volume_without_a_letter_gets_the_wished_one);
    RUN(a_volume_that_has_it_is_left_alone);
    RUN(another_letter_makes_room);
    RUN(a_folder_comes_beside_the_letter);
    RUN(a_letter_comes_beside_the_folder);
    RUN(a_letter_that_cannot_be_had_leaves_the_other);
    RUN(a_letter_that_stays_is_said);
    RUN(only_one_volume_can_be_meant);
    RUN(paths_begin_with_a_letter);
    return CHECK_RESULT();
}
