/** Lines of mountinfo, plain paths and names of udev's; tests/cli/test_fstab.sh compares fstab with findmnt.
 */
#include "check.h"
#include "mount/mount_options.h"
#include "mount/mount_tables.h"

static char text[512];

static const char *plain(const char *path) {
    snprintf(text, sizeof text, "%s", path);
    return path_make_plain(text) ? text : "none";
}

static void a_path_is_made_plain(void) {
    CHECK_TEXT(plain("/"), "/");
    CHECK_TEXT(plain("///"), "/");
    CHECK_TEXT(plain("/srv/db/"), "/srv/db");
    CHECK_TEXT(plain("//srv//./db/."), "/srv/db");
    CHECK_TEXT(plain("/srv/.db/..db/d.b"), "/srv/.db/..db/d.b");
    CHECK_TEXT(plain("/srv/../etc"), "none");
    CHECK_TEXT(plain("/srv/.."), "none");
    CHECK_TEXT(plain("srv"), "none");
    CHECK_TEXT(plain(""), "none");
    CHECK_TEXT(plain("/srv/a\nb"), "none");
}

static void a_path_is_below_a_folder_by_its_parts(void) {
    CHECK(path_is_below("/srv/db", "/srv"));
    CHECK(path_is_below("/srv/db", "/"));
    CHECK(!path_is_below("/srv", "/srv"));
    CHECK(!path_is_below("/srvdb/x", "/srv"));
    CHECK(!path_is_below("/", "/"));
}

static void a_mount_says_what_it_is_and_whom_it_follows(void) {
    struct mount_line line;
    snprintf(text, sizeof text,
             "36 35 259:1 /sub /srv/my\\040d\xc3\xa4ta rw,noatime shared:7 master:1 - ext4 "
             "/dev/nvme1n1 rw,errors=remount-ro\n");
    CHECK(mountinfo_parse(text, &line));
    CHECK(line.id == 36 && line.parent == 35 && line.major == 259 && line.minor == 1);
    CHECK(line.group == 7 && line.master == 1);
    CHECK_TEXT(line.root, "/sub");
    CHECK_TEXT(line.point, "/srv/my d\xc3\xa4ta");
    CHECK_TEXT(line.type, "ext4");
    CHECK_TEXT(line.source, "/dev/nvme1n1");
    CHECK_TEXT(line.options, "rw,errors=remount-ro");
    snprintf(text, sizeof text, "36 35 0:5 / / rw - proc proc rw");
    CHECK(mountinfo_parse(text, &line) && line.group == 0 && line.master == 0);
    snprintf(text, sizeof text, "36 35 0:5 / / rw");
    CHECK(!mountinfo_parse(text, &line));
}

static void a_name_of_udevs_is_decoded(void) {
    snprintf(text, sizeof text, "my\\x20d\xc3\xa4ta\\x5cx20\\x2");
    udev_decode(text);
    CHECK_TEXT(text, "my d\xc3\xa4ta\\x20\\x2");
}

static void an_option_is_found_as_a_whole_and_not_in_quotes(void) {
    CHECK(mount_options_have("ro,suid", "suid"));
    CHECK(mount_options_have("errors=panic,ro", "errors"));
    CHECK(!mount_options_have("nosuid,suidx", "suid"));
    CHECK(!mount_options_have("x=\"a,suid,b\"", "suid"));
    CHECK(!mount_options_have("", "suid"));
}

static void what_is_of_one_kind_is_not_of_another(void) {
    char refused[MOUNT_OPTION_BYTES];
    CHECK(mount_options_allow("noatime,nouuid", MOUNT_XFS, refused));
    CHECK(!mount_options_allow("noatime,nouuid", MOUNT_EXT, refused));
    CHECK_TEXT(refused, "nouuid");
    CHECK(!mount_options_allow("discard=async", MOUNT_EXT, refused));
    CHECK(mount_options_allow("discard=async,commit=30", MOUNT_BTRFS, refused));
    CHECK(!mount_options_allow("commit=30", MOUNT_XFS, refused));
}

int main(void) {
    RUN(a_path_is_made_plain);
    RUN(a_path_is_below_a_folder_by_its_parts);
    RUN(a_mount_says_what_it_is_and_whom_it_follows);
    RUN(a_name_of_udevs_is_decoded);
    RUN(an_option_is_found_as_a_whole_and_not_in_quotes);
    RUN(what_is_of_one_kind_is_not_of_another);
    return CHECK_RESULT();
}
