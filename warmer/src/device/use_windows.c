/** What uses a disk of Windows: it is in use while it is online. */
#include "device/use.h"

#include "device/device_windows.h"
#include "device/mount_point.h"
#include "system/clock.h"
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
 * What mingw-w64's winioctl.h lacks (Win32 documentation, "SET_DISK_ATTRIBUTES" and the control code of that
 * name).
 */
#define SET_ATTRIBUTES                                                                                       \
    CTL_CODE(IOCTL_DISK_BASE, 0x003d, METHOD_BUFFERED, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define ATTRIBUTE_OFFLINE UINT64_C(1)
#define ATTRIBUTE_READ_ONLY UINT64_C(2)
/** Windows mounts the file systems of a disk some moments after it is online. */
#define MOUNT_SECONDS 10u

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

static void add_text(const wchar_t *wide, struct texts *texts) {
    char text[TEXT_BYTES];
    if (WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, sizeof text, NULL, NULL) > 0) {
        texts_add(texts, "%s", text);
    }
}

static void find_points(void *context, const char *volume, struct texts *found) {
    wchar_t points[NAME_LETTERS];
    DWORD length = 0;
    wchar_t *wide = windows_path(volume);
    (void)context;
    if (wide != NULL && GetVolumePathNamesForVolumeNameW(wide, points, NAME_LETTERS, &length)) {
        for (const wchar_t *point = points; *point != L'\0'; point += wcslen(point) + 1) {
            add_text(point, found);
        }
    }
    free(wide);
}

/** The volumes of the disk whose number `context` is. */
static void find_volumes(void *context, struct texts *volumes) {
    const DWORD *number = context;
    wchar_t volume[NAME_LETTERS];
    HANDLE search = FindFirstVolumeW(volume, NAME_LETTERS);
    for (BOOL more = search != INVALID_HANDLE_VALUE; more;
         more = FindNextVolumeW(search, volume, NAME_LETTERS)) {
        size_t last = wcslen(volume) - 1;
        volume[last] = L'\0';
        bool is_here = lies_on(volume, *number);
        volume[last] = L'\\';
        if (is_here) {
            add_text(volume, volumes);
        }
    }
    if (search != INVALID_HANDLE_VALUE) {
        FindVolumeClose(search);
    }
}

static void find_mounts(DWORD number, struct texts *mounts) {
    static struct texts volumes;
    volumes.count = 0;
    find_volumes(&number, &volumes);
    for (size_t i = 0; i < volumes.count; i++) {
        find_points(NULL, volumes.items[i], mounts);
    }
}

void use_find(const char *path, struct device_use *use) {
    struct device *disk = NULL;
    struct diag refusal = {{0}};
    unsigned number = 0;
    if (device_open(path, &disk, &refusal) != 0 || !device_disk_number(disk, &number)) {
        texts_add(&use->others, "%s, which does not answer", path);
    } else if (!device_is_offline(disk)) {
        find_mounts(number, &use->mounts);
        if (use->mounts.count == 0) {
            texts_add(&use->mounts, "disk %u, which is online", number);
        }
    }
    device_close(disk);
}

/** Changes the state of a disk, and none of its bytes. */
static bool set_attributes(HANDLE disk, uint64_t attributes, uint64_t mask) {
    struct wanted_attributes wanted = {
        .version = sizeof wanted, .persist = TRUE, .attributes = attributes, .mask = mask};
    DWORD length = 0;
    return DeviceIoControl(disk, SET_ATTRIBUTES, &wanted, sizeof wanted, NULL, 0, &length, NULL);
}

/** Returns 0 or an errno. */
static int change(const char *path, uint64_t attributes, uint64_t mask) {
    HANDLE disk = open_disk(path, GENERIC_READ | GENERIC_WRITE);
    bool is_changed = disk != INVALID_HANDLE_VALUE && set_attributes(disk, attributes, mask);
    int failure = is_changed ? 0 : windows_errno(GetLastError());
    if (disk != INVALID_HANDLE_VALUE) {
        CloseHandle(disk);
    }
    return failure;
}

void use_end(const char *path) {
    int failure = change(path, ATTRIBUTE_OFFLINE, ATTRIBUTE_OFFLINE);
    if (failure != 0) {
        fprintf(stderr, "warmer: cannot take %s offline: %s\n", path, strerror(failure));
    }
}

/** Windows says of no disk that it has no more to mount, so this takes its time for a disk without any. */
static void wait_for_mounts(DWORD number) {
    static struct texts mounts;
    uint64_t due_ns = clock_now_ns() + MOUNT_SECONDS * NS_PER_SECOND;
    while (mounts.count == 0 && clock_now_ns() < due_ns) {
        clock_pause_ms(200);
        find_mounts(number, &mounts);
    }
}

/** Returns 0 or an errno. */
static int add_point(void *context, const char *point, const char *volume) {
    wchar_t *wide_point = windows_path(point);
    wchar_t *wide_volume = windows_path(volume);
    (void)context;
    bool is_done = wide_point != NULL && wide_volume != NULL && SetVolumeMountPointW(wide_point, wide_volume);
    int failure = is_done ? 0 : windows_errno(GetLastError());
    free(wide_point);
    free(wide_volume);
    return failure;
}

/** Returns 0 or an errno. */
static int remove_point(void *context, const char *point) {
    wchar_t *wide = windows_path(point);
    (void)context;
    int failure = wide != NULL && DeleteVolumeMountPointW(wide) ? 0 : windows_errno(GetLastError());
    free(wide);
    return failure;
}

/** The number of the disk. Returns false where it does not answer. */
static bool find_number(const char *path, DWORD *found) {
    struct device *disk = NULL;
    struct diag refusal = {{0}};
    unsigned number = 0;
    bool is_known = device_open(path, &disk, &refusal) == 0 && device_disk_number(disk, &number);
    device_close(disk);
    *found = number;
    return is_known;
}

int use_begin(const char *path, const char *point, struct diag *diag) {
    DWORD number = 0;
    struct mount_table table = {&number, find_volumes, find_points, add_point, remove_point};
    struct diag refusal = {{0}};
    /* What Windows keeps offline when it first sees it, it keeps read-only too. */
    int failure = change(path, 0, ATTRIBUTE_OFFLINE | ATTRIBUTE_READ_ONLY);
    if (failure != 0) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot bring %s online: %s", path, strerror(failure));
    }
    if (!find_number(path, &number)) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "%s is online and does not answer", path);
    }
    wait_for_mounts(number);
    if (point != NULL && mount_point_give(&table, point, &refusal) != 0) {
        fprintf(stderr, "warmer: %s\n", refusal.text);
    }
    return 0;
}
