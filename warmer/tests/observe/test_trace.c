/** Trace instances in a folder that plays tracefs: made, refused, removed, and removed when a process is
 * killed. */
#include "check.h"
#include "observe/trace.h"
#include "system/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[] = "/tmp/rewarm-test-XXXXXX";
static char path[256];

static const char *below(const char *name) {
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static bool exists(const char *name) {
    return access(below(name), F_OK) == 0;
}

/** The kernel does this; here it takes some time, too. */
static bool is_gone(const char *name) {
    for (unsigned i = 0; i < 3000 && exists(name); i++) {
        clock_pause_ms(10);
    }
    return !exists(name);
}

static void make_root(void) {
    static const char *const folders[] = {"instances", "events", "events/block",
                                          "events/block/block_rq_issue"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        mkdir(below(folders[i]), 0700);
    }
}

static int open_here(struct trace **trace, struct diag *diag) {
    *trace = NULL;
    diag->text[0] = '\0';
    return trace_open(root, 259, 3, NULL, trace, diag);
}

static void without_its_folders_it_is_refused(void) {
    struct trace *trace = NULL;
    struct diag diag;
    CHECK_EQ(open_here(&trace, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text,
               "cannot observe: the kernel does not trace block requests (no event block_rq_issue)");
    make_root();
    rmdir(below("instances"));
    CHECK_EQ(open_here(&trace, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot observe: the trace instances cannot be read: No such file or directory");
    CHECK(trace == NULL);
}

static void an_instance_is_there_until_it_is_closed(void) {
    struct trace *trace = NULL;
    struct diag diag;
    char text[64];
    make_root();
    CHECK_EQ(open_here(&trace, &diag), 0);
    CHECK(exists("instances/rewarm-259-3"));
    CHECK_EQ(trace_write(trace, "missing", "1"), -2);
    CHECK_EQ(trace_read(trace, "/events/missing", text, sizeof text), -2);
    close(open(below("instances/rewarm-259-3/file"), O_WRONLY | O_CREAT, 0600));
    CHECK_EQ(trace_write(trace, "file", "one"), 0);
    CHECK_EQ(trace_write(trace, "file", "two"), 0);
    CHECK_EQ(trace_read(trace, "file", text, sizeof text), 0);
    CHECK_TEXT(text, "onetwo");
    unlink(below("instances/rewarm-259-3/file"));
    trace_close(trace);
    CHECK(!exists("instances/rewarm-259-3"));
}

static void a_second_one_is_refused_and_harms_nothing(void) {
    struct trace *first = NULL;
    struct trace *second = NULL;
    struct diag diag;
    CHECK_EQ(open_here(&first, &diag), 0);
    CHECK_EQ(open_here(&second, &diag), WARMER_CANNOT_OPEN);
    CHECK_TEXT(diag.text, "cannot observe: another warmer is observing this device");
    CHECK(exists("instances/rewarm-259-3"));
    CHECK_EQ(trace_open(root, 259, 4, NULL, &second, &diag), 0);
    trace_close(second);
    CHECK(exists("instances/rewarm-259-3"));
    trace_close(first);
    CHECK(!exists("instances/rewarm-259-3"));
}

static void what_nobody_holds_goes_at_the_next_start(void) {
    struct trace *trace = NULL;
    struct diag diag;
    mkdir(below("instances/rewarm-1-2"), 0700);
    mkdir(below("instances/rewarm-259-3"), 0700);
    mkdir(below("instances/somebodys"), 0700);
    mkdir(below("instances/rewarm-5-6"), 0700);
    int held = open(path, O_RDONLY | O_DIRECTORY);
    CHECK_EQ(flock(held, LOCK_EX), 0);
    CHECK_EQ(open_here(&trace, &diag), 0);
    CHECK(!exists("instances/rewarm-1-2"));
    CHECK(exists("instances/rewarm-5-6"));
    CHECK(exists("instances/somebodys"));
    trace_close(trace);
    close(held);
    rmdir(below("instances/rewarm-5-6"));
    rmdir(below("instances/somebodys"));
}

/** A process that holds an instance and is then killed, with its whole group. */
static void an_instance_and_its_litter_go_when_the_process_is_killed(void) {
    int ends[2];
    char byte = 0;
    CHECK_EQ(pipe(ends), 0);
    close(open(below("litter"), O_WRONLY | O_CREAT, 0600));
    char litter[256];
    snprintf(litter, sizeof litter, "%s", path);
    pid_t child = fork();
    if (child == 0) {
        struct trace *trace = NULL;
        struct diag diag;
        setpgid(0, 0);
        if (trace_open(root, 259, 3, litter, &trace, &diag) == 0 && write(ends[1], "1", 1) == 1) {
            pause();
        }
        _exit(1);
    }
    CHECK_EQ(read(ends[0], &byte, 1), 1);
    CHECK(exists("instances/rewarm-259-3") && exists("litter"));
    CHECK_EQ(kill(-child, SIGKILL), 0);
    waitpid(child, NULL, 0);
    CHECK(is_gone("instances/rewarm-259-3"));
    CHECK(is_gone("litter"));
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    CHECK(mkdtemp(root) != NULL);
    RUN(without_its_folders_it_is_refused);
    RUN(an_instance_is_there_until_it_is_closed);
    RUN(a_second_one_is_refused_and_harms_nothing);
    RUN(what_nobody_holds_goes_at_the_next_start);
    RUN(an_instance_and_its_litter_go_when_the_process_is_killed);
    rmdir(below("events/block/block_rq_issue"));
    rmdir(below("events/block"));
    rmdir(below("events"));
    rmdir(below("instances"));
    rmdir(root);
    return CHECK_RESULT();
}
