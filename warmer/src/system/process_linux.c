#include "system/process.h"
#include "system/process_native.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct native_process {
    pid_t id;
    int streams[NATIVE_STREAMS]; /**< To read from; -1: at their end. */
    int input;                   /**< To write to; -1: it has its input. */
    bool has_ended;
};

/** The descriptor by which a fed program gets a text; others have only those before it. */
#define TEXT_FILENO 3u
#define PIPES (TEXT_FILENO + 1)
/** A guard closes the files below this; a process that starts one has no more. */
#define GUARD_CLOSES 1024

/** The pipes between both programs, by the descriptor that the started one knows them as. */
struct pipes {
    unsigned count;
    int ends[PIPES][2];
};

static void close_all(struct pipes *pipes) {
    for (unsigned i = 0; i < PIPES; i++) {
        for (unsigned end = 0; end < 2; end++) {
            if (pipes->ends[i][end] >= 0) {
                close(pipes->ends[i][end]);
                pipes->ends[i][end] = -1;
            }
        }
    }
}

static int open_all(struct pipes *pipes, unsigned count) {
    *pipes = (struct pipes){count, {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}}};
    for (unsigned i = 0; i < count; i++) {
        if (pipe2(pipes->ends[i], O_CLOEXEC) != 0) {
            int failure = -errno;
            close_all(pipes);
            return failure;
        }
    }
    return 0;
}

/** The started process, until it is another program. Status 127 says, as a shell does, that there is none. */
static _Noreturn void become(const char *const *words, const struct pipes *pipes, pid_t starter) {
    /* Who ends this process's starter without its consent ends this one too, in order. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != starter) {
        _exit(127); /* It ended before that. */
    }
    signal(SIGPIPE, SIG_DFL);
    /* A thread of ours blocks every signal, and the program must not inherit that. */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(pipes->ends[STDIN_FILENO][0], STDIN_FILENO);
    dup2(pipes->ends[STDOUT_FILENO][1], STDOUT_FILENO);
    dup2(pipes->ends[STDERR_FILENO][1], STDERR_FILENO);
    if (pipes->count > TEXT_FILENO &&
        dup2(pipes->ends[TEXT_FILENO][0], TEXT_FILENO) == pipes->ends[TEXT_FILENO][0]) {
        /* It had this number already, and would be closed. */
        fcntl(TEXT_FILENO, F_SETFD, 0);
    }
    /* execvp changes none of the words; its declaration is older than const. */
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

/** Its input fits into the pipe; whether it is read to the end is the program's affair. */
static void keep_ends(struct native_process *native, struct pipes *pipes, const char *input) {
    bool is_fed = pipes->count > TEXT_FILENO;
    unsigned reader = is_fed ? TEXT_FILENO : STDIN_FILENO;
    if (input != NULL && write(pipes->ends[reader][1], input, strlen(input)) < 0) {
        /* It has ended already, and its status says so. */
    }
    native->input = is_fed ? pipes->ends[STDIN_FILENO][1] : -1;
    if (is_fed) {
        pipes->ends[STDIN_FILENO][1] = -1;
        fcntl(native->input, F_SETFL, O_NONBLOCK);
    }
    native->streams[NATIVE_OUTPUT] = pipes->ends[STDOUT_FILENO][0];
    native->streams[NATIVE_ERRORS] = pipes->ends[STDERR_FILENO][0];
    pipes->ends[STDOUT_FILENO][0] = pipes->ends[STDERR_FILENO][0] = -1;
    for (unsigned i = 0; i < NATIVE_STREAMS; i++) {
        fcntl(native->streams[i], F_SETFL, O_NONBLOCK);
    }
}

static int start(const char *const *words, const char *input, unsigned count,
                 struct native_process **started) {
    struct native_process *native = calloc(1, sizeof *native);
    struct pipes pipes;
    int failure = native == NULL ? -ENOMEM : open_all(&pipes, count);
    if (failure == 0) {
        pid_t own = getpid();
        native->id = fork();
        if (native->id == 0) {
            become(words, &pipes, own);
        }
        failure = native->id < 0 ? -errno : 0;
        if (failure == 0) {
            keep_ends(native, &pipes, input);
            *started = native;
        }
        close_all(&pipes);
    }
    if (failure != 0) {
        free(native);
    }
    return failure;
}

int native_start(const char *const *words, const char *input, struct native_process **started) {
    return start(words, input, TEXT_FILENO, started);
}

int native_start_fed(const char *const *words, const char *text, struct native_process **started) {
    return start(words, text, PIPES, started);
}

int64_t native_write(struct native_process *native, const void *bytes, size_t size) {
    ssize_t count = native->input < 0 ? -1 : write(native->input, bytes, size);
    bool is_full = count < 0 && native->input >= 0 && (errno == EAGAIN || errno == EINTR);
    return is_full ? 0 : count;
}

void native_await_room(struct native_process *native, unsigned milliseconds) {
    struct pollfd wait = {.fd = native->input, .events = POLLOUT};
    poll(&wait, 1, (int)milliseconds);
}

void native_end_input(struct native_process *native) {
    if (native->input >= 0) {
        close(native->input);
        native->input = -1;
    }
}

size_t native_read(struct native_process *native, int stream, char *bytes, size_t size) {
    int descriptor = native->streams[stream];
    ssize_t count = descriptor < 0 ? 0 : read(descriptor, bytes, size);
    if (descriptor >= 0 && count == 0) {
        close(descriptor);
        native->streams[stream] = -1;
    }
    return count > 0 ? (size_t)count : 0;
}

bool native_has_ended(struct native_process *native, int *status) {
    int found = 0;
    if (waitpid(native->id, &found, WNOHANG) != native->id) {
        return false;
    }
    native->has_ended = true;
    *status = WIFEXITED(found) ? WEXITSTATUS(found) : -WTERMSIG(found);
    return true;
}

void native_pause(struct native_process *native, unsigned milliseconds) {
    struct pollfd waits[NATIVE_STREAMS] = {{.fd = native->streams[NATIVE_OUTPUT], .events = POLLIN},
                                           {.fd = native->streams[NATIVE_ERRORS], .events = POLLIN}};
    poll(waits, NATIVE_STREAMS, (int)milliseconds);
}

void native_ask(struct native_process *native) {
    kill(native->id, SIGTERM);
}

void native_kill(struct native_process *native) {
    kill(native->id, SIGKILL);
}

void native_close(struct native_process *native) {
    native_end_input(native);
    for (unsigned i = 0; i < NATIVE_STREAMS; i++) {
        if (native->streams[i] >= 0) {
            close(native->streams[i]);
        }
    }
    free(native);
}

struct guard {
    pid_t id;
    int end; /**< Of a pair of sockets; the other one meets its end when no process has this one any more. */
};

/** Away from whoever is ended together: another session, no files, deaf to requests. */
static void leave(int end, int kept) {
    static const int deaf[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    prctl(PR_SET_NAME, "warmer-guard");
    for (unsigned i = 0; i < sizeof deaf / sizeof deaf[0]; i++) {
        signal(deaf[i], SIG_IGN);
    }
    for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++) {
        dup2(nowhere, descriptor);
    }
    for (int descriptor = STDERR_FILENO + 1; descriptor < GUARD_CLOSES; descriptor++) {
        if (descriptor != end && descriptor != kept) {
            close(descriptor);
        }
    }
}

/** One byte from the other end; 0: it is closed. */
static ssize_t hear(int end) {
    char byte = 0;
    ssize_t count = 0;
    do {
        count = read(end, &byte, 1);
    } while (count < 0 && errno == EINTR);
    return count;
}

static void say(int end) {
    if (send(end, "", 1, MSG_NOSIGNAL) < 0) {
        /* The other process has ended. */
    }
}

int guard_start(void (*act)(void *context), void *context, int kept, struct guard **started) {
    struct guard *guard = calloc(1, sizeof *guard);
    int ends[2];
    if (guard == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        int failure = guard == NULL ? -ENOMEM : -errno;
        free(guard);
        return failure;
    }
    guard->id = fork();
    if (guard->id == 0) {
        leave(ends[0], kept);
        say(ends[0]);
        if (hear(ends[0]) == 0) {
            act(context);
        }
        _exit(0);
    }
    int failure = guard->id < 0 ? -errno : 0;
    close(ends[0]);
    /* Until it has left, it can be ended with this process. */
    if (failure == 0 && hear(ends[1]) != 1) {
        failure = -ECHILD;
    }
    guard->end = ends[1];
    if (failure != 0) {
        guard_end(guard, false);
        return failure;
    }
    *started = guard;
    return 0;
}

void guard_end(struct guard *guard, bool acts) {
    if (guard == NULL) {
        return;
    }
    if (!acts) {
        say(guard->end);
    }
    close(guard->end);
    while (guard->id > 0 && waitpid(guard->id, NULL, 0) < 0 && errno == EINTR) {
    }
    free(guard);
}

void process_end_with_starter(void) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

bool process_own_program(char *path, uint32_t size) {
    /* By its own name, which is what people see of it; a file that is gone has none. */
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    if (access(path, X_OK) != 0) {
        snprintf(path, size, "/proc/self/exe");
    }
    return true;
}
