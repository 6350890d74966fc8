/** Who a disk is, from what its driver knows; every question changes nothing. */
#include "device/identity.h"

#include "device/device_windows.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>
#include <winioctl.h>

/** Room for a descriptor with its texts behind it. */
#define DESCRIPTOR_BYTES 1024u

/** A storage property of the disk; bytes of the answer, 0 or less for none. */
static int64_t ask(const struct device *device, STORAGE_PROPERTY_ID property, void *answer, size_t size) {
    STORAGE_PROPERTY_QUERY query = {.PropertyId = property, .QueryType = PropertyStandardQuery};
    return device_ask(device, IOCTL_STORAGE_QUERY_PROPERTY, &query, sizeof query, answer, size);
}

/** The text at `offset` of a descriptor, without spaces around it; empty if there is none. */
static void copy_text(const char *descriptor, int64_t length, DWORD offset, char *text, size_t size) {
    text[0] = '\0';
    if (offset == 0 || (int64_t)offset >= length) {
        return;
    }
    size_t room = (size_t)(length - (int64_t)offset);
    const char *begin = descriptor + offset;
    size_t count = strnlen(begin, room);
    while (count > 0 && *begin == ' ') {
        begin++;
        count--;
    }
    while (count > 0 && begin[count - 1] == ' ') {
        count--;
    }
    snprintf(text, size, "%.*s", (int)count, begin);
}

/**
 * On an EBS volume the serial reads vol0123456789abcdef0_00000001. : the volume's id without its dash, and
 * the NVMe namespace (Amazon EC2 user guide for Windows, "Map NVMe disks to volumes").
 */
static void read_names(const struct device *device, struct identity *identity) {
    union {
        STORAGE_DEVICE_DESCRIPTOR descriptor;
        char bytes[DESCRIPTOR_BYTES];
    } answer = {0};
    int64_t length = ask(device, StorageDeviceProperty, &answer, sizeof answer);
    if (length < (int64_t)offsetof(STORAGE_DEVICE_DESCRIPTOR, RawPropertiesLength)) {
        return;
    }
    copy_text(answer.bytes, length, answer.descriptor.ProductIdOffset, identity->model,
              sizeof identity->model);
    copy_text(answer.bytes, length, answer.descriptor.SerialNumberOffset, identity->serial,
              sizeof identity->serial);
    identity_volume_id(identity->serial, identity->volume_id, sizeof identity->volume_id);
}

static void read_limits(const struct device *device, struct identity *identity) {
    STORAGE_ADAPTER_DESCRIPTOR adapter = {0};
    STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR alignment = {0};
    if (ask(device, StorageAdapterProperty, &adapter, sizeof adapter) > 0) {
        identity->max_request_bytes = adapter.MaximumTransferLength;
    }
    if (ask(device, StorageAccessAlignmentProperty, &alignment, sizeof alignment) > 0) {
        identity->logical_block_bytes = alignment.BytesPerLogicalSector;
        identity->physical_block_bytes = alignment.BytesPerPhysicalSector;
    }
    identity->is_read_only = device_ask(device, IOCTL_DISK_IS_WRITABLE, NULL, 0, NULL, 0) == -EROFS;
}

/** The path that the system knows the device by; where it does not say, the one given. */
static void find_real_path(const char *path, const struct device *device, struct identity *identity) {
    wchar_t wide[sizeof identity->real_path];
    char text[sizeof identity->real_path];
    DWORD room = sizeof wide / sizeof wide[0];
    DWORD length = GetFinalPathNameByHandleW(device_handle(device), wide, room, FILE_NAME_NORMALIZED);
    bool is_known = length > 0 && length < room &&
                    WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, sizeof text, NULL, NULL) > 0;
    const char *found = is_known ? text : path;
    /* The prefix only says that the path is not to be parsed; people leave it out. */
    if (strncmp(found, "\\\\?\\", 4) == 0) {
        found += 4;
    }
    snprintf(identity->real_path, sizeof identity->real_path, "%s", found);
}

void identity_find(const char *path, const struct device *device, struct identity *identity) {
    unsigned number = 0;
    *identity = (struct identity){0};
    find_real_path(path, device, identity);
    if (device_is_block(device)) {
        read_names(device, identity);
        read_limits(device, identity);
    }
    if (device_disk_number(device, &number)) {
        snprintf(identity->name, sizeof identity->name, "PhysicalDrive%u", number);
    }
    if (identity->volume_id[0] == '\0') {
        identity_volume_id(path, identity->volume_id, sizeof identity->volume_id);
    }
}
