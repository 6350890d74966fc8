/**
 * Devices on Windows: \\.\PHYSICALDRIVEn and plain files.
 *
 * This is the only place that opens them. Only claim.c's way opens one for writing too, and every
 * DeviceIoControl, here and in identity_windows.c, only asks.
 */
#include "device/device_windows.h"
#include "device/device_facts.h"
#include "system/windows_error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include <winioctl.h>

/** Unbuffered reads need sectors' alignment, which is no more than this on any EBS volume. */
#define PAGE_BYTES 4096u

/** Neither disk nor file; no errno of Windows says so. */
#define NO_DEVICE (-1)

/**
 * What mingw-w64's winioctl.h lacks (Win32 documentation, "GET_DISK_ATTRIBUTES" and the control code of that
 * name).
 */
#define GET_ATTRIBUTES CTL_CODE(IOCTL_DISK_BASE, 0x003c, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define ATTRIBUTE_OFFLINE UINT64_C(1)

struct found_attributes {
    DWORD version; /**< The size of this. */
    DWORD reserved;
    uint64_t attributes;
};

/** How a device is opened. */
struct opening {
    DWORD access;
    DWORD share; /**< What others may do meanwhile. */
};

static const struct opening for_reading = {GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE};
/** Nobody else can write, nor bring a disk online, which takes a handle for writing. */
static const struct opening for_writing = {GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ};

struct device {
    struct device_facts facts;
    HANDLE handle;
    HANDLE port;
    STORAGE_DEVICE_NUMBER number;
    BY_HANDLE_FILE_INFORMATION file;
};

/** Past the cache, or through it with a note where that is refused; 0 or an errno. */
static int open_handle(struct device *device, const wchar_t *path, const struct opening *opening) {
    DWORD flags = FILE_FLAG_OVERLAPPED | FILE_FLAG_RANDOM_ACCESS;
    device->handle = CreateFileW(path, opening->access, opening->share, NULL, OPEN_EXISTING,
                                 FILE_FLAG_OVERLAPPED | FILE_FLAG_NO_BUFFERING, NULL);
    if (device->handle != INVALID_HANDLE_VALUE) {
        return 0;
    }
    int refusal = windows_errno(GetLastError());
    if (refusal != EINVAL && refusal != ENOSYS) {
        return refusal;
    }
    snprintf(device->facts.note, sizeof device->facts.note,
             "unbuffered reads refused (%s); reading through the cache", strerror(refusal));
    device->handle = CreateFileW(path, opening->access, opening->share, NULL, OPEN_EXISTING, flags, NULL);
    return device->handle != INVALID_HANDLE_VALUE ? 0 : windows_errno(GetLastError());
}

/**
 * An event for one call that is waited for, to close. Windows documents (GetQueuedCompletionStatus) that the
 * lowest bit of hEvent keeps the call's completion off the port.
 */
static bool prepare_wait(OVERLAPPED *overlapped, HANDLE *event) {
    *event = CreateEventW(NULL, TRUE, FALSE, NULL);
    overlapped->hEvent = (HANDLE)((uintptr_t)*event | 1);
    return *event != NULL;
}

/** Wait for a call that answered `begun`; bytes or -errno. */
static int64_t wait_for(const struct device *device, BOOL begun, OVERLAPPED *overlapped) {
    DWORD bytes = 0;
    if (begun || GetLastError() == ERROR_IO_PENDING) {
        begun = GetOverlappedResult(device->handle, overlapped, &bytes, TRUE);
    }
    if (begun) {
        return bytes;
    }
    DWORD error = GetLastError();
    return error == ERROR_HANDLE_EOF ? 0 : -windows_errno(error);
}

int64_t device_ask(const struct device *device, uint32_t code, void *question, size_t question_size,
                   void *answer, size_t answer_size) {
    OVERLAPPED overlapped = {0};
    HANDLE event = NULL;
    if (!prepare_wait(&overlapped, &event)) {
        return -windows_errno(GetLastError());
    }
    BOOL begun = DeviceIoControl(device->handle, code, question, (DWORD)question_size, answer,
                                 (DWORD)answer_size, NULL, &overlapped);
    int64_t bytes = wait_for(device, begun, &overlapped);
    CloseHandle(event);
    return bytes;
}

/** A question without parameters. */
static bool ask(const struct device *device, uint32_t code, void *answer, size_t size) {
    return device_ask(device, code, NULL, 0, answer, size) > 0;
}

/** Size, alignment and number of a disk; 0 or NO_DEVICE. */
static int measure_disk(struct device *device) {
    GET_LENGTH_INFORMATION length = {0};
    DISK_GEOMETRY_EX geometry = {0};
    bool has_geometry = ask(device, IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, &geometry, sizeof geometry);
    if (ask(device, IOCTL_DISK_GET_LENGTH_INFO, &length, sizeof length)) {
        device->facts.bytes = (uint64_t)length.Length.QuadPart;
    } else if (has_geometry) {
        device->facts.bytes = (uint64_t)geometry.DiskSize.QuadPart;
    } else {
        return NO_DEVICE;
    }
    device->facts.is_block = true;
    if (has_geometry && geometry.Geometry.BytesPerSector > 0) {
        device->facts.alignment_bytes = geometry.Geometry.BytesPerSector;
    }
    if (!ask(device, IOCTL_STORAGE_GET_DEVICE_NUMBER, &device->number, sizeof device->number)) {
        return NO_DEVICE;
    }
    return 0;
}

/** 0, NO_DEVICE or an errno. */
static int measure(struct device *device) {
    device->facts.alignment_bytes = PAGE_BYTES;
    if (GetFileType(device->handle) != FILE_TYPE_DISK) {
        return NO_DEVICE;
    }
    if (!GetFileInformationByHandle(device->handle, &device->file)) {
        return measure_disk(device);
    }
    device->facts.bytes = (uint64_t)device->file.nFileSizeHigh << 32 | device->file.nFileSizeLow;
    return 0;
}

/** Open and learn all; 0, NO_DEVICE or an errno. */
static int prepare(struct device *device, const char *path, const struct opening *opening) {
    wchar_t *wide = windows_path(path);
    if (wide == NULL) {
        return ENOENT;
    }
    DWORD attributes = GetFileAttributesW(wide);
    bool is_folder = attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    int failure = is_folder ? NO_DEVICE : open_handle(device, wide, opening);
    free(wide);
    if (failure == 0) {
        failure = measure(device);
    }
    if (failure == 0) {
        device->port = CreateIoCompletionPort(device->handle, NULL, 0, 1);
        failure = device->port != NULL ? 0 : windows_errno(GetLastError());
    }
    return failure;
}

static const char *begin(const char *path, const struct opening *opening, struct device **begun) {
    struct device *device = calloc(1, sizeof *device);
    *begun = device;
    if (device == NULL) {
        return "out of memory";
    }
    device->handle = INVALID_HANDLE_VALUE;
    int failure = prepare(device, path, opening);
    if (failure == NO_DEVICE) {
        return "neither a block device nor a regular file";
    }
    return failure == 0 ? NULL : strerror(failure);
}

const char *device_begin(const char *path, struct device **begun) {
    return begin(path, &for_reading, begun);
}

const char *device_begin_writing(const char *path, struct device **begun) {
    return begin(path, &for_writing, begun);
}

void device_close(struct device *device) {
    if (device == NULL) {
        return;
    }
    if (device->handle != INVALID_HANDLE_VALUE) {
        CloseHandle(device->handle);
    }
    if (device->port != NULL) {
        CloseHandle(device->port);
    }
    free(device);
}

bool device_disk_number(const struct device *device, unsigned *number) {
    *number = device->number.DeviceNumber;
    return device->facts.is_block && device->number.DeviceType == FILE_DEVICE_DISK &&
           device->number.PartitionNumber == 0;
}

bool device_is_offline(const struct device *device) {
    struct found_attributes found = {.version = sizeof found};
    return ask(device, GET_ATTRIBUTES, &found, sizeof found) && (found.attributes & ATTRIBUTE_OFFLINE) != 0;
}

void device_key(const struct device *device, char *key, size_t size) {
    if (device->facts.is_block) {
        snprintf(key, size, "disk-%lu:%lu:%lu", (unsigned long)device->number.DeviceType,
                 (unsigned long)device->number.DeviceNumber, (unsigned long)device->number.PartitionNumber);
    } else {
        uint64_t index = (uint64_t)device->file.nFileIndexHigh << 32 | device->file.nFileIndexLow;
        snprintf(key, size, "file-%lu-%" PRIu64, (unsigned long)device->file.dwVolumeSerialNumber, index);
    }
}

void *device_handle(const struct device *device) {
    return device->handle;
}

void *device_port(const struct device *device) {
    return device->port;
}

int64_t device_read(const struct device *device, void *buffer, size_t length, uint64_t offset) {
    OVERLAPPED overlapped = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
    HANDLE event = NULL;
    if (!prepare_wait(&overlapped, &event)) {
        return -windows_errno(GetLastError());
    }
    BOOL begun = ReadFile(device->handle, buffer, (DWORD)length, NULL, &overlapped);
    int64_t bytes = wait_for(device, begun, &overlapped);
    CloseHandle(event);
    return bytes;
}

int64_t device_write(const struct device *device, const void *buffer, size_t length, uint64_t offset) {
    OVERLAPPED overlapped = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
    HANDLE event = NULL;
    if (!prepare_wait(&overlapped, &event)) {
        return -windows_errno(GetLastError());
    }
    BOOL begun = WriteFile(device->handle, buffer, (DWORD)length, NULL, &overlapped);
    int64_t bytes = wait_for(device, begun, &overlapped);
    CloseHandle(event);
    return bytes;
}

int device_flush(const struct device *device) {
    return FlushFileBuffers(device->handle) ? 0 : -windows_errno(GetLastError());
}

uint64_t device_bytes_now(const struct device *device) {
    if (!device->facts.is_block) {
        BY_HANDLE_FILE_INFORMATION file;
        bool is_known = GetFileInformationByHandle(device->handle, &file);
        return is_known ? (uint64_t)file.nFileSizeHigh << 32 | file.nFileSizeLow : 0;
    }
    GET_LENGTH_INFORMATION length = {0};
    int64_t got = device_ask(device, IOCTL_DISK_GET_LENGTH_INFO, NULL, 0, &length, sizeof length);
    if (got > 0) {
        return (uint64_t)length.Length.QuadPart;
    }
    return got == -ENXIO || got == -ENOENT ? 0 : UINT64_MAX;
}

uint64_t device_queue_bytes(const struct device *device) {
    (void)device;
    return 0;
}

bool device_is_listed(const struct device *device) {
    (void)device;
    return true;
}

void *device_alloc_buffer(size_t bytes) {
    return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void device_free_buffer(void *buffer) {
    if (buffer != NULL) {
        VirtualFree(buffer, 0, MEM_RELEASE);
    }
}
