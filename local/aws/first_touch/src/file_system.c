#include "file_system.h"

#include "control.h"

#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define VOLUME_INODE 2
/* Nothing changes behind the kernel's back. */
#define CACHE_SECONDS 3600.0
/* The kernel sends at most this many asynchronous requests at once; its default, 12, would be the bottleneck.
 */
#define BACKGROUND_REQUESTS 4096
/* Requests taken in one turn before due answers are looked at again. */
#define TURN_REQUESTS 64
#define EXIT_CANNOT_MOUNT 4

enum { FUSE_POLL, SIGNAL_POLL, CONTROL_POLL, POLL_COUNT };

static struct stat attributes(const struct volume *volume, fuse_ino_t inode) {
    struct stat status = {.st_ino = inode, .st_nlink = 1, .st_mode = S_IFDIR | 0755};

    if (inode == VOLUME_INODE) {
        status.st_mode = S_IFREG | 0600;
        status.st_size = (off_t)volume->options->size_bytes;
        status.st_blksize = (blksize_t)PAGE_BYTES;
    }
    return status;
}

static void on_init(void *context, struct fuse_conn_info *connection) {
    (void)context;
    connection->max_background = BACKGROUND_REQUESTS;
    connection->congestion_threshold = BACKGROUND_REQUESTS;
    connection->want |= connection->capable & FUSE_CAP_ASYNC_DIO;
    /* Requests are copied out of one buffer that is used again; a pipe would only add system calls. */
    connection->want &= ~(unsigned)FUSE_CAP_SPLICE_READ;
}

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name) {
    const struct volume *volume = fuse_req_userdata(request);
    struct fuse_entry_param entry = {
        .ino = VOLUME_INODE, .attr_timeout = CACHE_SECONDS, .entry_timeout = CACHE_SECONDS};

    if (parent != FUSE_ROOT_ID || strcmp(name, volume->options->file_name) != 0) {
        fuse_reply_err(request, ENOENT);
        return;
    }
    entry.attr = attributes(volume, VOLUME_INODE);
    fuse_reply_entry(request, &entry);
}

static void on_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file) {
    struct stat status = attributes(fuse_req_userdata(request), inode);

    (void)file;
    fuse_reply_attr(request, &status, CACHE_SECONDS);
}

/* Times, owner and length are not kept; opening with O_TRUNC leaves a disk as it is. */
static void on_setattr(fuse_req_t request, fuse_ino_t inode, struct stat *wanted, int which,
                       struct fuse_file_info *file) {
    (void)wanted;
    (void)which;
    on_getattr(request, inode, file);
}

static void on_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file) {
    if (inode != VOLUME_INODE) {
        fuse_reply_err(request, EISDIR);
        return;
    }
    file->direct_io = 1;
    fuse_reply_open(request, file);
}

static void on_readdir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                       struct fuse_file_info *file) {
    const struct volume *volume = fuse_req_userdata(request);
    struct stat status = attributes(volume, VOLUME_INODE);
    char buffer[512];
    size_t length;

    (void)file;
    if (inode != FUSE_ROOT_ID || offset > 0) {
        fuse_reply_buf(request, NULL, 0);
        return;
    }
    length = fuse_add_direntry(request, buffer, sizeof(buffer), volume->options->file_name, &status, 1);
    fuse_reply_buf(request, buffer, length <= size ? length : 0);
}

static void on_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                    struct fuse_file_info *file) {
    struct volume *volume = fuse_req_userdata(request);
    uint64_t start = (uint64_t)offset, length = size;

    (void)inode;
    (void)file;
    if (start >= volume->options->size_bytes) {
        fuse_reply_buf(request, NULL, 0);
        return;
    }
    if (length > volume->options->size_bytes - start)
        length = volume->options->size_bytes - start;
    volume_read(volume, request, start, length);
}

static void on_write(fuse_req_t request, fuse_ino_t inode, const char *data, size_t size, off_t offset,
                     struct fuse_file_info *file) {
    struct volume *volume = fuse_req_userdata(request);
    uint64_t start = (uint64_t)offset;

    (void)inode;
    (void)file;
    if (start >= volume->options->size_bytes || size > volume->options->size_bytes - start)
        fuse_reply_err(request, ENOSPC);
    else
        volume_write(volume, request, data, start, size);
}

/* A write is in the backing file before it is answered: there is nothing left to flush. */
static void on_fsync(fuse_req_t request, fuse_ino_t inode, int data_only, struct fuse_file_info *file) {
    (void)inode;
    (void)data_only;
    (void)file;
    fuse_reply_err(request, 0);
}

static const struct fuse_lowlevel_ops OPERATIONS = {
    .init = on_init,
    .lookup = on_lookup,
    .getattr = on_getattr,
    .setattr = on_setattr,
    .open = on_open,
    .readdir = on_readdir,
    .read = on_read,
    .write = on_write,
    .fsync = on_fsync,
};

static void answer(void *handle, int error, const char *data, size_t length) {
    if (error)
        fuse_reply_err(handle, error);
    else if (data)
        fuse_reply_buf(handle, data, length);
    else
        fuse_reply_write(handle, length);
}

/* Takes the requests that have arrived; -errno when the file system is gone. */
static int take_requests(struct fuse_session *session, struct fuse_buf *buffer) {
    for (int i = 0; i < TURN_REQUESTS; i++) {
        int result = fuse_session_receive_buf(session, buffer);

        if (result == -EAGAIN || result == -EINTR)
            return 0;
        if (result <= 0)
            return result ? result : -ENODEV;
        fuse_session_process_buf(session, buffer);
    }
    return 0;
}

static void wait_for_work(struct pollfd *polled, const struct timers *timers) {
    struct timespec timeout;
    uint64_t due_ns, now_ns = clock_now_ns(), left_ns;
    bool has_timer = timers_next_due(timers, &due_ns);

    left_ns = has_timer && due_ns > now_ns ? due_ns - now_ns : 0;
    timeout.tv_sec = (time_t)(left_ns / NANOSECONDS);
    timeout.tv_nsec = (long)(left_ns % NANOSECONDS);
    if (ppoll(polled, POLL_COUNT, has_timer ? &timeout : NULL, NULL) < 0)
        polled[FUSE_POLL].revents = polled[SIGNAL_POLL].revents = polled[CONTROL_POLL].revents = 0;
}

static void serve(struct volume *volume, struct fuse_session *session, int signals) {
    struct control control = {.volume = volume, .socket = volume->options->control_fd};
    struct fuse_buf buffer = {.mem = NULL};
    struct pollfd polled[POLL_COUNT] = {
        [FUSE_POLL] = {.fd = fuse_session_fd(session), .events = POLLIN},
        [SIGNAL_POLL] = {.fd = signals, .events = POLLIN},
        [CONTROL_POLL] = {.fd = control.socket, .events = POLLIN},
    };

    fcntl(fuse_session_fd(session), F_SETFL, O_NONBLOCK);
    /* The default slack of 50 us would be a tenth of a warm read. */
    prctl(PR_SET_TIMERSLACK, 1UL);
    while (!fuse_session_exited(session)) {
        wait_for_work(polled, &volume->timers);
        if (polled[SIGNAL_POLL].revents)
            break;
        if (polled[CONTROL_POLL].revents && !control_serve(&control))
            break;
        if (polled[FUSE_POLL].revents && take_requests(session, &buffer) < 0)
            break;
        timers_run(&volume->timers, clock_now_ns());
    }
    free(buffer.mem);
}

static int catch_signals(void) {
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static struct fuse_session *create_session(struct volume *volume) {
    char *arguments[] = {"first-touch", "-o", "fsname=first-touch,default_permissions"};
    struct fuse_args args = FUSE_ARGS_INIT(3, arguments);
    struct fuse_session *session = fuse_session_new(&args, &OPERATIONS, sizeof(OPERATIONS), volume);

    fuse_opt_free_args(&args);
    return session;
}

int file_system_run(struct volume *volume) {
    int signals = catch_signals();
    struct fuse_session *session = create_session(volume);

    volume->answer = answer;
    if (!session || fuse_session_mount(session, volume->options->mount_path) != 0) {
        fprintf(stderr, "first-touch: cannot mount a FUSE file system on %s\n", volume->options->mount_path);
        if (session)
            fuse_session_destroy(session);
        return EXIT_CANNOT_MOUNT;
    }
    if (volume->options->control_fd >= 0)
        dprintf(volume->options->control_fd, "{\"ready\": true}\n");
    serve(volume, session, signals);
    volume_destroy(volume);
    fuse_session_unmount(session);
    fuse_session_destroy(session);
    close(signals);
    return 0;
}
