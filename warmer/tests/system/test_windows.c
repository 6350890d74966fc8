/** What only the Windows build has: errors by their numbers, paths in UTF-8, state files, the console's
 * clock. */
#include "check.h"
#include "device/claim.h"
#include "device/device_windows.h"
#include "device/identity.h"
#include "device/lock.h"
#include "loop/state.h"
#include "system/clock.h"
#include "system/file.h"
#include "system/interrupt.h"
#include "system/windows_error.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <windows.h>

#define DEVICE_BYTES (1000 * (uint64_t)BLOCK_BYTES + 5)

static const struct state_identity volume = {DEVICE_BYTES, "vol-0123456789abcdef0"};

static void errors_that_pass_are_told_from_those_that_stay(void) {
    CHECK_EQ(windows_errno(ERROR_NO_SYSTEM_RESOURCES), ENOMEM);
    CHECK_EQ(windows_errno(ERROR_WORKING_SET_QUOTA), ENOMEM);
    CHECK_EQ(windows_errno(ERROR_SEM_TIMEOUT), ETIMEDOUT);
    CHECK_EQ(windows_errno(ERROR_OPERATION_ABORTED), ECANCELED);
    CHECK_EQ(windows_errno(ERROR_CRC), EIO);
    CHECK_EQ(windows_errno(ERROR_IO_DEVICE), EIO);
    CHECK_EQ(windows_errno(ERROR_SECTOR_NOT_FOUND), EIO);
    CHECK_EQ(windows_errno(ERROR_DEVICE_NOT_CONNECTED), ENXIO);
    CHECK_EQ(windows_errno(ERROR_DEVICE_NOT_AVAILABLE), ENXIO);
    CHECK_EQ(windows_errno(ERROR_ACCESS_DENIED), EACCES);
    CHECK_EQ(windows_errno(0xffffffff), EIO);
}

static void paths_are_utf_8(void) {
    wchar_t *wide = windows_path("Gr\xc3\xb6\xc3\x9f"
                                 "e");
    CHECK(wide != NULL && wcscmp(wide, L"Gr\u00f6\u00dfe") == 0);
    free(wide);
    CHECK(windows_path("\xff") == NULL);
    CHECK(file_open("\xff") == NULL);
    CHECK_EQ(errno, ENOENT);
}

static void the_serial_of_a_disk_is_its_volume(void) {
    char id[32];
    CHECK(identity_volume_id("vol0a400000000000001_00000001.", id, sizeof id));
    CHECK_TEXT(id, "vol-0a400000000000001");
}

static void the_clock_runs(void) {
    uint64_t began_ns = clock_now_ns();
    Sleep(30);
    CHECK_BETWEEN(clock_now_ns() - began_ns, 25e6, 5e9);
}

static void what_is_no_device_is_refused(void) {
    struct device *device = NULL;
    struct diag diag = {{0}};
    CHECK_EQ(device_open("nul", &device, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot open nul: neither a block device nor a regular file");
    CHECK_EQ(device_open("C:\\windows", &device, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot open C:\\windows: neither a block device nor a regular file");
    CHECK_EQ(device_open("nothing-here", &device, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot open nothing-here: No such file or directory");
}

/** A small file of its own; its name is left in `path`. */
static void make_file(char *path, size_t bytes) {
    FILE *stream = fdopen(mkstemp(path), "r+b");
    for (size_t i = 0; i < bytes; i++) {
        fputc(7, stream);
    }
    CHECK_EQ(fclose(stream), 0);
}

static void reads_are_plain_and_the_handle_cannot_write(void) {
    char path[] = "warmer-device-XXXXXX";
    char written = 'x';
    DWORD count = 0;
    unsigned number = 0;
    OVERLAPPED overlapped = {0};
    struct device *device = NULL;
    struct diag diag = {{0}};
    make_file(path, 5000);
    CHECK_EQ(device_open(path, &device, &diag), 0);
    unsigned char *buffer = device_alloc_buffer(BLOCK_BYTES);
    CHECK_EQ(device_bytes(device), 5000);
    CHECK(!device_is_block(device) && !device_disk_number(device, &number));
    CHECK_EQ(device_read(device, buffer, 8192, 0), 5000);
    CHECK_EQ(buffer[4999], 7);
    CHECK_EQ(device_read(device, buffer, 4096, 8192), 0);
    CHECK(!WriteFile(device_handle(device), &written, 1, &count, &overlapped));
    CHECK_EQ(GetLastError(), ERROR_ACCESS_DENIED);
    device_free_buffer(buffer);
    device_close(device);
    CHECK_EQ(unlink(path), 0);
}

static void who_writes_is_alone_and_others_may_read(void) {
    char path[] = "warmer-claim-XXXXXX";
    struct claim claim = {.path = path, .volume_id = volume.name, .is_image = true};
    struct device *device = NULL;
    struct device *other = NULL;
    struct diag diag = {{0}};
    make_file(path, 8192);
    CHECK_EQ(claim_take(&claim, &device, &diag), 0);
    CHECK_EQ(claim_confirm(&claim, device, 8192, &diag), 0);
    CHECK_EQ(claim_confirm(&claim, device, 4096, &diag), WARMER_WRONG_SIZE);
    CHECK_EQ(claim_take(&claim, &other, &diag), WARMER_HELD);
    CHECK_EQ(device_open(path, &other, &diag), 0);
    unsigned char *buffer = device_alloc_buffer(BLOCK_BYTES);
    memset(buffer, 9, 4096);
    CHECK_EQ(device_write(device, buffer, 4096, 4096), 4096);
    CHECK_EQ(device_flush(device), 0);
    CHECK_EQ(device_read(other, buffer, 8192, 0), 8192);
    CHECK(buffer[4095] == 7 && buffer[4096] == 9 && buffer[8191] == 9);
    CHECK_EQ(device_write(other, buffer, 4096, 0), -EACCES);
    device_free_buffer(buffer);
    device_close(other);
    device_close(device);
    CHECK_EQ(unlink(path), 0);
}

static void what_is_no_whole_disk_is_not_taken_for_one(void) {
    char path[] = "vol0123456789abcdef0";
    struct claim claim = {.path = path, .volume_id = volume.name};
    struct device *device = NULL;
    struct diag diag = {{0}};
    CHECK_EQ(claim_take(&claim, &device, &diag), WARMER_CANNOT_OPEN);
    fclose(fopen(path, "w"));
    CHECK_EQ(truncate(path, 8192), 0);
    CHECK_EQ(claim_look(&claim, &diag), WARMER_NOT_WHOLE);
    CHECK_EQ(claim_take(&claim, &device, &diag), WARMER_NOT_WHOLE);
    CHECK_TEXT(diag.text, "vol0123456789abcdef0 is not a whole disk");
    CHECK_EQ(unlink(path), 0);
}

static void a_file_cut_short_is_noticed(void) {
    char path[] = "warmer-short-XXXXXX";
    struct device *device = NULL;
    struct diag diag = {{0}};
    make_file(path, 5000);
    CHECK_EQ(device_open(path, &device, &diag), 0);
    CHECK(device_gone(device, EIO) == NULL);
    CHECK(device_gone(device, 0) == NULL);
    CHECK_TEXT(device_gone(device, windows_errno(ERROR_DEVICE_REMOVED)), "it does not answer any more");
    CHECK_EQ(truncate(path, 4000), 0);
    CHECK_TEXT(device_gone(device, 0), "it is smaller than when it was opened");
    CHECK_EQ(truncate(path, 0), 0);
    CHECK_TEXT(device_gone(device, EIO), "it has no size any more");
    device_close(device);
    CHECK_EQ(unlink(path), 0);
}

static void one_warm_up_a_device(void) {
    char path[] = "warmer-lock-XXXXXX";
    struct device *device = NULL;
    struct device *again = NULL;
    struct lock *lock = NULL;
    struct lock *second = NULL;
    struct diag diag = {{0}};
    make_file(path, 5000);
    CHECK_EQ(device_open(path, &device, &diag), 0);
    CHECK_EQ(device_open(path, &again, &diag), 0);
    CHECK_EQ(lock_device(device, path, &lock, &diag), 0);
    CHECK_EQ(lock_device(again, "it", &second, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot lock it: another warmer is reading it");
    lock_release(lock);
    CHECK_EQ(lock_device(again, "it", &second, &diag), 0);
    lock_release(second);
    device_close(device);
    device_close(again);
    unlink(path);
}

static void what_is_remembered_is_taken_out_the_next_time(void) {
    const char *path = "state-of-test";
    struct state *state = NULL;
    struct state *second = NULL;
    struct diag diag = {{0}};
    unlink(path);
    CHECK_EQ(state_open(path, &volume, &state, &diag), 0);
    CHECK_EQ(state_open(path, &volume, &second, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot use state file state-of-test: another warmer is using it");
    state_remember(state, 7);
    state_remember(state, 1000);
    state_close(state);
    CHECK_EQ(state_open(path, &volume, &state, &diag), 0);
    struct block_set *wanted = block_set_create(1001);
    block_set_add(wanted, 0, 1001);
    struct block_set *done = block_set_create(1001);
    uint64_t damaged = 1;
    CHECK_EQ(state_subtract(state, wanted, done, &damaged), 0);
    CHECK_EQ(damaged, 0);
    CHECK_EQ(block_set_count(done), 2);
    CHECK_EQ(block_set_count(wanted), 999);
    block_set_destroy(wanted);
    block_set_destroy(done);
    state_close(state);
    struct state_identity other = {DEVICE_BYTES, "vol-0123456789abcdef1"};
    CHECK_EQ(state_open(path, &other, &state, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot use state file state-of-test: it belongs to another device");
    unlink(path);
}

/** Start this program again as `role`, detached from the caller; its process. */
static HANDLE start_as(const wchar_t *role) {
    wchar_t program[MAX_PATH];
    wchar_t line[MAX_PATH + 32];
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION started = {0};
    GetModuleFileNameW(NULL, program, MAX_PATH);
    _snwprintf(line, sizeof line / sizeof *line, L"\"%ls\" %ls", program, role);
    if (!CreateProcessW(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &started)) {
        return NULL;
    }
    CloseHandle(started.hThread);
    return started.hProcess;
}

static bool appears(const char *path) {
    for (int i = 0; i < 600 && access(path, F_OK) != 0; i++) {
        Sleep(50);
    }
    return access(path, F_OK) == 0;
}

static void leave_mark(const char *path) {
    fclose(fopen(path, "wb"));
}

/** What `started` does: it says that it runs, and whether it was interrupted within half a minute. */
static int be_started(void) {
    interrupt_catch();
    leave_mark(interrupt_requested() ? "interrupted-at-once" : "runs");
    for (int i = 0; i < 600 && !interrupt_requested(); i++) {
        Sleep(50);
    }
    if (interrupt_requested()) {
        leave_mark("interrupted");
    }
    return 0;
}

/** What `starter` does: it starts the other and waits, until somebody ends it. */
static int be_starter(void) {
    WaitForSingleObject(start_as(L"started"), 60000);
    return 0;
}

static void the_end_of_the_process_that_started_this_one_is_an_interruption(void) {
    unlink("runs");
    unlink("interrupted");
    HANDLE starter = start_as(L"starter");
    CHECK(starter != NULL && appears("runs"));
    CHECK(access("interrupted", F_OK) != 0);
    TerminateProcess(starter, 1);
    CHECK(appears("interrupted"));
    CloseHandle(starter);
    unlink("runs");
    unlink("interrupted");
}

int main(int count, char **words) {
    if (count > 1) {
        return strcmp(words[1], "starter") == 0 ? be_starter() : be_started();
    }
    RUN(errors_that_pass_are_told_from_those_that_stay);
    RUN(paths_are_utf_8);
    RUN(the_serial_of_a_disk_is_its_volume);
    RUN(the_clock_runs);
    RUN(what_is_no_device_is_refused);
    RUN(reads_are_plain_and_the_handle_cannot_write);
    RUN(who_writes_is_alone_and_others_may_read);
    RUN(what_is_no_whole_disk_is_not_taken_for_one);
    RUN(a_file_cut_short_is_noticed);
    RUN(one_warm_up_a_device);
    RUN(what_is_remembered_is_taken_out_the_next_time);
    RUN(the_end_of_the_process_that_started_this_one_is_an_interruption);
    return CHECK_RESULT();
}
