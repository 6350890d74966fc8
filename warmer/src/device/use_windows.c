/** What uses a disk of Windows: it is in use while it is online. */
#include "device/use.h"

#include "system/windows_error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include <winioctl.h>

/** More disks than any volume of ours lies on. */
#define EXTENTS_BYTES 4096u
#define NAME_LETTERS 1024u

/**
 * What mingw-w64's winioctl.h lacks (Win32 documentation, "GET_DISK_ATTRIBUTES", "SET_DISK_ATTRIBUTES" and
 * the control codes of the same names).
 */
#define GET_ATTRIBUTES CTL_CODE(IOCTL_DISK_BASE, 0x003c, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define SET_ATTRIBUTES                                                                                       \
    CTL_CODE(IOCTL_DISK_BASE, 0x003d, METHOD_BUFFERED, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define ATTRIBUTE_OFFLINE UINT64_C(1)

struct found_attributes {
    DWORD version; /**< The size of this. */
    DWORD reserved;
    uint64_t attributes;
};

struct wanted_attributes {
    DWORD version;
    BOOLEAN persist; /**< Also after a restart. */
    BYTE reserved[3];
    uint64_t attributes;
    uint64_t mask;
    DWORD reserved_too[4];
};

static HANDLE open_handle(const wchar_t *path, DWORD access) {
    return CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
}

static HANDLE open_disk(const char *path, DWORD access) {
    wchar_t *wide = windows_path(path);
    HANDLE disk = wide == NULL ? INVALID_HANDLE_VALUE : open_handle(wide, access);
    free(wide);
    return disk;
}

static bool ask(HANDLE handle, DWORD code, void *answer, DWORD size) {
    DWORD length = 0;
    return DeviceIoControl(handle, code, NULL, 0, answer, size, &length, NULL);
}

static bool is_offline(HANDLE disk) {
    struct found_attributes found = {.version = sizeof found};
    return ask(disk, GET_ATTRIBUTES, &found, sizeof found) && (found.attributes & ATTRIBUTE_OFFLINE) != 0;
}

/** Whether a volume, by its name without the last backslash, lies on this disk. */
static bool lies_on(const wchar_t *volume, DWORD number) {
    union {
        VOLUME_DISK_EXTENTS extents;
        char bytes[EXTENTS_BYTES];
    } answer = {0};
    bool found = false;
    HANDLE handle = open_handle(volume, 0);
    if (handle == INVALID_HANDLE_VALUE) {
        return false;
    }
    if (ask(handle, IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, &answer, sizeof answer)) {
        for (DWORD i = 0; i < answer.extents.NumberOfDiskExtents; i++) {
            found |= answer.extents.Extents[i].DiskNumber == number;
        }
    }
    CloseHandle(handle);
    return found;
}

/** The drive letters and folders of a volume, by its name with the last backslash. */
static void add_points(const wchar_t *volume, struct texts *mounts) {
    wchar_t points[NAME_LETTERS];
    DWORD length = 0;
    if (!GetVolumePathNamesForVolumeNameW(volume, points, NAME_LETTERS, &length)) {
        return;
    }
    for (const wchar_t *point = points; *point != L'\0'; point += wcslen(point) + 1) {
        char text[TEXT_BYTES];
        if (WideCharToMultiByte(CP_UTF8, 0, point, -1, text, sizeof text, NULL, NULL) > 0) {
            texts_add(mounts, "%s", text);
        }
    }
}

static void find_mounts(DWORD number, struct texts *mounts) {
    wchar_t volume[NAME_LETTERS];
    HANDLE search = FindFirstVolumeW(volume, NAME_LETTERS);
    for (BOOL more = search != INVALID_HANDLE_VALUE; more;
         more = FindNextVolumeW(search, volume, NAME_LETTERS)) {
        size_t last = wcslen(volume) - 1;
        volume[last] = L'\0';
        bool is_here = lies_on(volume, number);
        volume[last] = L'\\';
        if (is_here) {
            add_points(volume, mounts);
        }
    }
    if (search != INVALID_HANDLE_VALUE) {
        FindVolumeClose(search);
    }
}

void use_find(const char *path, struct device_use *use) {
    STORAGE_DEVICE_NUMBER number = {0};
    HANDLE disk = open_disk(path, GENERIC_READ);
    if (disk == INVALID_HANDLE_VALUE || !ask(disk, IOCTL_STORAGE_GET_DEVICE_NUMBER, &number, sizeof number)) {
        texts_add(&use->others, "%s, which does not answer", path);
    } else if (!is_offline(disk)) {
        find_mounts(number.DeviceNumber, &use->mounts);
        if (use->mounts.count == 0) {
            texts_add(&use->mounts, "disk %lu, which is online", (unsigned long)number.DeviceNumber);
        }
    }
    if (disk != INVALID_HANDLE_VALUE) {
        CloseHandle(disk);
    }
}

/** The only call of the agent that changes a disk: its state, and none of its bytes. */
void use_end(const char *path) {
    struct wanted_attributes wanted = {.version = sizeof wanted,
                                       .persist = TRUE,
                                       .attributes = ATTRIBUTE_OFFLINE,
                                       .mask = ATTRIBUTE_OFFLINE};
    DWORD length = 0;
    HANDLE disk = open_disk(path, GENERIC_READ | GENERIC_WRITE);
    if (!DeviceIoControl(disk, SET_ATTRIBUTES, &wanted, sizeof wanted, NULL, 0, &length, NULL)) {
        fprintf(stderr, "warmer: cannot take %s offline: %s\n", path,
                strerror(windows_errno(GetLastError())));
    }
    if (disk != INVALID_HANDLE_VALUE) {
        CloseHandle(disk);
    }
}
