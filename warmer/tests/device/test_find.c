/**
 * Which disk a volume is, in trees of their own: by serial number, by every form of name that udev gives it,
 * and never by a name that leads to another disk.
 */
#include "fake_tree.h"

#define VOLUME "vol-0123456789abcdef0"
#define SERIAL "vol0123456789abcdef0"
#define OTHER_SERIAL "vol0fedcba9876543210"
#define BY_ID "/dev/disk/by-id/"

static char found[512];

static void put_disk(const char *name, const char *number, const char *serial) {
    char path[256];
    snprintf(path, sizeof path, "/dev/%s", name);
    put(path, number);
    snprintf(path, sizeof path, "/sys/block/%s/dev", name);
    put(path, number);
    snprintf(path, sizeof path, "/sys/dev/block/%s/dev", number);
    put(path, number);
    if (serial != NULL) {
        snprintf(path, sizeof path, "/sys/block/%s/device/serial", name);
        put(path, serial);
        snprintf(path, sizeof path, "/sys/dev/block/%s/device/serial", number);
        put(path, serial);
    }
}

/** An instance with a root disk, another volume, and the volume itself, whose serial number may be unknown.
 */
static void begin(const char *serial) {
    clear_tree();
    put_disk("nvme0n1", "259:0", "AWS22222222222222222\n");
    put_disk("nvme1n1", "259:1", OTHER_SERIAL "\n");
    put_disk("nvme2n1", "259:2", serial);
}

static bool is_at(const char *path) {
    bool is_there = find_device_below(&fake_tree, VOLUME, found, sizeof found);
    return is_there == (path != NULL) && (path == NULL || strcmp(found + strlen(root), path) == 0);
}

static void the_serial_number_needs_no_name(void) {
    begin(SERIAL "\n");
    CHECK(is_at("/dev/nvme2n1"));
    begin(SERIAL "               \n");
    CHECK(is_at("/dev/nvme2n1"));
}

/** Names of systemd and of Amazon Linux, old and new ones. */
static const char *const names[] = {
    "nvme-Amazon_Elastic_Block_Store_" SERIAL,
    "nvme-Amazon_Elastic_Block_Store_" SERIAL "_1",
    "nvme-Amazon_Elastic_Block_Store_" SERIAL "-ns-1",
    "nvme-nvme.1d0f-766f6c3031323334353637383961626364656630-"
    "416d617a6f6e20456c617374696320426c6f636b2053746f7265-00000001",
};

static void a_disk_without_a_serial_number_is_found_by_any_name(void) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char link[256];
        begin(NULL);
        snprintf(link, sizeof link, BY_ID "%s", names[i]);
        put_link(link, "/dev/nvme2n1");
        CHECK(is_at(link));
    }
}

static void a_name_that_leads_to_another_disk_is_never_taken(void) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char link[256];
        snprintf(link, sizeof link, BY_ID "%s", names[i]);
        begin(SERIAL);
        put_link(link, "/dev/nvme1n1");
        CHECK(is_at("/dev/nvme2n1"));
        begin(NULL);
        put_link(link, "/dev/nvme1n1");
        CHECK(is_at(NULL));
    }
}

static void names_that_lead_to_two_disks_are_none(void) {
    begin(NULL);
    put_disk("nvme3n1", "259:3", NULL);
    put_link(BY_ID "nvme-Amazon_Elastic_Block_Store_" SERIAL, "/dev/nvme2n1");
    put_link(BY_ID "nvme-Amazon_Elastic_Block_Store_" SERIAL "_1", "/dev/nvme3n1");
    CHECK(is_at(NULL));
}

/** Such a disk may be another volume. A folder cannot be read as a file, not even by root. */
static void a_disk_whose_serial_number_cannot_be_read_is_not_taken_by_its_name(void) {
    begin(NULL);
    make_folders("/sys/block/nvme2n1/device/serial/");
    make_folders("/sys/dev/block/259:2/device/serial/");
    put_link(BY_ID "nvme-Amazon_Elastic_Block_Store_" SERIAL, "/dev/nvme2n1");
    CHECK(is_at(NULL));
}

static void names_of_partitions_and_names_that_lead_nowhere_are_passed_over(void) {
    begin(NULL);
    put_disk("nvme2n1p1", "259:4", NULL);
    put_link(BY_ID "nvme-Amazon_Elastic_Block_Store_" SERIAL "-part1", "/dev/nvme2n1p1");
    put_link(BY_ID "nvme-Amazon_Elastic_Block_Store_" SERIAL "_1", "/dev/nvme7n1");
    CHECK(is_at(NULL));
    CHECK(strstr(found, SERIAL) != NULL);
}

static void a_device_file_of_another_disk_is_not_taken_by_its_name(void) {
    begin(SERIAL);
    char path[256];
    snprintf(path, sizeof path, "%s/dev/nvme2n1", root);
    CHECK(remove(path) == 0);
    put("/dev/nvme2n1", "259:1");
    CHECK(is_at(NULL));
}

static void an_old_volume_has_eight_digits(void) {
    clear_tree();
    put_disk("nvme1n1", "259:1", "vol1234abcd\n");
    CHECK(find_device_below(&fake_tree, "vol-1234abcd", found, sizeof found));
    CHECK(!find_device_below(&fake_tree, "vol-1234abc", found, sizeof found));
}

int main(void) {
    choose_root("find");
    RUN(the_serial_number_needs_no_name);
    RUN(a_disk_without_a_serial_number_is_found_by_any_name);
    RUN(a_name_that_leads_to_another_disk_is_never_taken);
    RUN(names_that_lead_to_two_disks_are_none);
    RUN(a_disk_whose_serial_number_cannot_be_read_is_not_taken_by_its_name);
    RUN(names_of_partitions_and_names_that_lead_nowhere_are_passed_over);
    RUN(a_device_file_of_another_disk_is_not_taken_by_its_name);
    RUN(an_old_volume_has_eight_digits);
    clear_tree();
    return CHECK_RESULT();
}
