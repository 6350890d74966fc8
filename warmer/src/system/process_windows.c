#include "system/process.h"
#include "system/process_native.h"
#include "system/windows_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/** CreateProcessW takes no longer line. */
#define LINE_LETTERS 32767u

struct native_process {
    HANDLE process;
    HANDLE job; /**< Ends the program when this process ends, however it ends. */
    HANDLE streams[NATIVE_STREAMS];
};

/** The pipes between both programs: input, output, errors; the started one's ends are the second column. */
struct pipes {
    HANDLE ours[3];
    HANDLE theirs[3];
};

/** A command line in UTF-8 that grows. */
struct line {
    char text[LINE_LETTERS * 3];
    size_t length;
    bool is_full;
};

static void put(struct line *line, char letter, size_t count) {
    for (; count > 0 && line->length + 1 < sizeof line->text; count--) {
        line->text[line->length++] = letter;
    }
    line->is_full |= count > 0;
}

/** One argument as CommandLineToArgvW reads it: backslashes count only before a quotation mark. */
static void put_word(struct line *line, const char *word) {
    size_t backslashes = 0;
    put(line, '"', 1);
    for (; *word != '\0'; word++) {
        if (*word == '"') {
            put(line, '\\', backslashes + 1);
        }
        backslashes = *word == '\\' ? backslashes + 1 : 0;
        put(line, *word, 1);
    }
    put(line, '\\', backslashes);
    put(line, '"', 1);
}

static wchar_t *command_line(const char *const *words) {
    struct line *line = calloc(1, sizeof *line);
    wchar_t *wide = NULL;
    if (line == NULL) {
        return NULL;
    }
    for (size_t i = 0; words[i] != NULL; i++) {
        put(line, ' ', i > 0);
        put_word(line, words[i]);
    }
    if (!line->is_full) {
        wide = windows_path(line->text);
    }
    free(line);
    return wide;
}

static void close_handle(HANDLE *handle) {
    if (*handle != NULL) {
        CloseHandle(*handle);
        *handle = NULL;
    }
}

static void close_all(HANDLE *handles) {
    for (unsigned i = 0; i < 3; i++) {
        close_handle(&handles[i]);
    }
}

/** Only the ends of the started program are for it to inherit. */
static bool open_all(struct pipes *pipes) {
    bool is_open = true;
    *pipes = (struct pipes){{NULL}, {NULL}};
    for (unsigned i = 0; i < 3 && is_open; i++) {
        HANDLE *from = i == 0 ? &pipes->theirs[i] : &pipes->ours[i];
        HANDLE *to = i == 0 ? &pipes->ours[i] : &pipes->theirs[i];
        is_open = CreatePipe(from, to, NULL, 0) &&
                  SetHandleInformation(pipes->theirs[i], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    }
    return is_open;
}

static HANDLE create_job(void) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    HANDLE job = CreateJobObjectW(NULL, NULL);
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
    return job;
}

static bool create(struct native_process *native, const struct pipes *pipes, wchar_t *line) {
    STARTUPINFOW startup = {.cb = sizeof startup,
                            .dwFlags = STARTF_USESTDHANDLES,
                            .hStdInput = pipes->theirs[0],
                            .hStdOutput = pipes->theirs[1],
                            .hStdError = pipes->theirs[2]};
    PROCESS_INFORMATION started = {0};
    if (!CreateProcessW(NULL, line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &startup, &started)) {
        return false;
    }
    native->process = started.hProcess;
    native->job = create_job();
    AssignProcessToJobObject(native->job, native->process);
    ResumeThread(started.hThread);
    CloseHandle(started.hThread);
    return true;
}

int native_start(const char *const *words, const char *input, struct native_process **started) {
    struct native_process *native = calloc(1, sizeof *native);
    wchar_t *line = command_line(words);
    struct pipes pipes;
    bool is_good = open_all(&pipes) && native != NULL && line != NULL && create(native, &pipes, line);
    int failure = is_good ? 0 : -windows_errno(GetLastError());
    DWORD written = 0;
    if (is_good) {
        if (input != NULL) {
            WriteFile(pipes.ours[0], input, (DWORD)strlen(input), &written, NULL);
        }
        native->streams[NATIVE_OUTPUT] = pipes.ours[1];
        native->streams[NATIVE_ERRORS] = pipes.ours[2];
        pipes.ours[1] = pipes.ours[2] = NULL;
        *started = native;
    } else {
        free(native);
    }
    close_all(pipes.ours);
    close_all(pipes.theirs);
    free(line);
    return failure;
}

size_t native_read(struct native_process *native, int stream, char *bytes, size_t size) {
    DWORD count = 0;
    DWORD room = (DWORD)size;
    HANDLE pipe = native->streams[stream];
    if (!PeekNamedPipe(pipe, NULL, 0, NULL, &count, NULL) || count == 0) {
        return 0;
    }
    return ReadFile(pipe, bytes, count < room ? count : room, &count, NULL) ? count : 0;
}

bool native_has_ended(struct native_process *native, int *status) {
    DWORD code = 0;
    if (WaitForSingleObject(native->process, 0) != WAIT_OBJECT_0) {
        return false;
    }
    GetExitCodeProcess(native->process, &code);
    /* The numbers of exceptions begin with 0xc; negative is for signals. */
    *status = (int)(code & INT32_MAX);
    return true;
}

void native_pause(struct native_process *native, unsigned milliseconds) {
    WaitForSingleObject(native->process, milliseconds);
}

void native_ask(struct native_process *native) {
    (void)native;
}

void native_kill(struct native_process *native) {
    TerminateProcess(native->process, 1);
}

void native_close(struct native_process *native) {
    close_handle(&native->streams[NATIVE_OUTPUT]);
    close_handle(&native->streams[NATIVE_ERRORS]);
    close_handle(&native->job);
    close_handle(&native->process);
    free(native);
}

void process_end_with_starter(void) {
}

bool process_own_program(char *path, uint32_t size) {
    wchar_t wide[MAX_PATH];
    DWORD length = GetModuleFileNameW(NULL, wide, MAX_PATH);
    return length > 0 && length < MAX_PATH &&
           WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, (int)size, NULL, NULL) > 0;
}

int guard_start(void (*act)(void *context), void *context, int kept, struct guard **started) {
    (void)act;
    (void)context;
    (void)kept;
    *started = NULL;
    return 0;
}

void guard_end(struct guard *guard, bool acts) {
    (void)guard;
    (void)acts;
}
