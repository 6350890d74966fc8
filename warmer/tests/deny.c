/**
 * Runs a command under a kernel that refuses something, as containers and old systems do:
 *
 *   deny io_uring ERRNO COMMAND…      io_uring_setup fails with this number
 *   deny fsopen ERRNO COMMAND…        the same of fsopen
 *   deny direct COMMAND…              open with O_DIRECT fails with EINVAL
 *   deny read-at OFFSET COMMAND…      pread at this offset (below 4 GiB) fails with EIO
 *   deny write-at OFFSET COMMAND…     the same of pwrite
 *
 * Says why and exits with 77 where the kernel takes no system call filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(field))
#define LOW_WORD(index) (offsetof(struct seccomp_data, args) + 8 * (index))
#define SKIP_UNLESS(value, steps) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, steps)
#define SKIP_UNLESS_ANY(bits, steps) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (unsigned)(bits), 0, steps)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (unsigned)(value))
#define NUMBER offsetof(struct seccomp_data, nr)

static int install(struct sock_filter *steps, size_t count) {
    struct sock_fprog program = {.len = (unsigned short)count, .filter = steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0;
}

static int deny_call(unsigned call, unsigned error) {
    struct sock_filter steps[] = {LOAD(NUMBER), SKIP_UNLESS(call, 1), ANSWER(SECCOMP_RET_ERRNO | error),
                                  ANSWER(SECCOMP_RET_ALLOW)};
    return install(steps, sizeof steps / sizeof steps[0]);
}

/** C libraries open by either call. */
static int deny_direct(void) {
    struct sock_filter steps[] = {
        LOAD(NUMBER),
        SKIP_UNLESS(SYS_openat, 3),
        LOAD(LOW_WORD(2)),
        SKIP_UNLESS_ANY(O_DIRECT, 1),
        ANSWER(SECCOMP_RET_ERRNO | EINVAL),
#ifdef SYS_open
        LOAD(NUMBER),
        SKIP_UNLESS(SYS_open, 3),
        LOAD(LOW_WORD(1)),
        SKIP_UNLESS_ANY(O_DIRECT, 1),
        ANSWER(SECCOMP_RET_ERRNO | EINVAL),
#endif
        ANSWER(SECCOMP_RET_ALLOW),
    };
    return install(steps, sizeof steps / sizeof steps[0]);
}

static int deny_at(unsigned call, unsigned offset) {
    struct sock_filter steps[] = {LOAD(NUMBER),
                                  SKIP_UNLESS(call, 3),
                                  LOAD(LOW_WORD(3)),
                                  SKIP_UNLESS(offset, 1),
                                  ANSWER(SECCOMP_RET_ERRNO | EIO),
                                  ANSWER(SECCOMP_RET_ALLOW)};
    return install(steps, sizeof steps / sizeof steps[0]);
}

int main(int count, char **arguments) {
    int first = 3;
    int failure = 1;
    if (count > 3 && strcmp(arguments[1], "io_uring") == 0) {
        failure = deny_call(SYS_io_uring_setup, (unsigned)strtoul(arguments[2], NULL, 10));
    } else if (count > 3 && strcmp(arguments[1], "fsopen") == 0) {
        failure = deny_call(SYS_fsopen, (unsigned)strtoul(arguments[2], NULL, 10));
    } else if (count > 3 && strcmp(arguments[1], "read-at") == 0) {
        failure = deny_at(SYS_pread64, (unsigned)strtoul(arguments[2], NULL, 10));
    } else if (count > 3 && strcmp(arguments[1], "write-at") == 0) {
        failure = deny_at(SYS_pwrite64, (unsigned)strtoul(arguments[2], NULL, 10));
    } else if (count > 2 && strcmp(arguments[1], "direct") == 0) {
        failure = deny_direct();
        first = 2;
    } else {
        fputs("deny io_uring ERRNO | fsopen ERRNO | direct | read-at OFFSET | write-at OFFSET, then a "
              "command\n",
              stderr);
        return 2;
    }
    if (failure != 0) {
        perror("deny: no system call filter can be set here");
        return 77;
    }
    execv(arguments[first], &arguments[first]);
    perror(arguments[first]);
    return 127;
}
