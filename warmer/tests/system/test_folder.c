/** Folders and files where other users may change names: which links are followed, and what is deleted. */
#include "check.h"
#include "system/file.h"
#include "system/file_linux.h"
#include "system/folder_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534u

/** Where a test works; it is the current folder then. */
static char base[64];

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
}

static bool holds(const char *path, const char *text) {
    char found[64] = "";
    int file = open(path, O_RDONLY);
    ssize_t length = file < 0 ? -1 : read(file, found, sizeof found - 1);
    close(file);
    return length == (ssize_t)strlen(text) && strcmp(found, text) == 0;
}

static void begin(void) {
    snprintf(base, sizeof base, "/tmp/warmer-folder-XXXXXX");
    CHECK(mkdtemp(base) != NULL && chdir(base) == 0);
}

static void end(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", base);
    CHECK(chdir("/") == 0 && system(command) == 0);
}

static int walk(const char *path) {
    int place = folder_walk(path, false);
    if (place >= 0) {
        close(place);
    }
    return place < 0 ? place : 0;
}

/** As the manual says: a link counts where only root or this user can have made it, and can change it. */
static void a_link_is_followed_where_nobody_else_can_change_it(void) {
    static const struct {
        mode_t mode;
        uid_t folder, link;
        int wanted;
    } cases[] = {
        {0755, 0, 0, 0},           {0700, 0, 0, 0},           {01777, 0, 0, 0},
        {0777, 0, 0, -ELOOP},      {0757, 0, 0, -ELOOP},      {01777, 0, NOBODY, -ELOOP},
        {0755, 0, NOBODY, -ELOOP}, {0755, NOBODY, 0, -ELOOP}, {01777, NOBODY, 0, -ELOOP},
    };
    if (geteuid() != 0) {
        return;
    }
    begin();
    CHECK(mkdir("place", 0755) == 0 && mkdir("place/real", 0755) == 0 &&
          symlink("real/.", "place/link") == 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(chown("place", cases[i].folder, 0) == 0 && chmod("place", cases[i].mode) == 0);
        CHECK(lchown("place/link", cases[i].link, 0) == 0);
        CHECK_EQ(walk("place/link"), cases[i].wanted);
        CHECK_EQ(walk("place/link/../link"), cases[i].wanted);
        CHECK_EQ(walk("place/real"), 0);
    }
    CHECK(chown("place", 0, 0) == 0 && lchown("place/link", 0, 0) == 0 && link("place/link", "twin") == 0);
    CHECK(chmod("place", 01777) == 0);
    CHECK_EQ(walk("place/link"), -ELOOP);
    CHECK(chmod("place", 0755) == 0);
    CHECK_EQ(walk("place/link"), 0);
    /* Below a folder of others no link counts, whoever seems to have made it. */
    CHECK(chown("place", NOBODY, 0) == 0 && symlink("/", "place/real/out") == 0);
    CHECK_EQ(walk("place/real/out"), -ELOOP);
    end();
}

static void other_ways_end_or_lead_on(void) {
    static char longest[2 * 4096];
    char name[300];
    begin();
    memset(longest, 'a', 4096);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    write_file("file", "x");
    CHECK(symlink("loop", "loop") == 0 && symlink(base, "whole") == 0 && symlink("gone", "nowhere") == 0);
    CHECK_EQ(walk("loop"), -ELOOP);
    CHECK_EQ(walk("whole/./whole/../."), 0);
    CHECK_EQ(walk("/proc/self/cwd"), 0);
    CHECK_EQ(walk("nowhere"), -ENOENT);
    CHECK_EQ(walk("gone"), -ENOENT);
    CHECK_EQ(walk(""), -ENOENT);
    CHECK_EQ(walk("file"), -ENOTDIR);
    CHECK_EQ(walk("file/x"), -ENOTDIR);
    CHECK_EQ(walk(name), -ENAMETOOLONG);
    CHECK_EQ(walk(longest), -ENAMETOOLONG);
    CHECK_EQ(folder_make("new/below/it"), 0);
    CHECK_EQ(walk("new/below/it"), 0);
    for (unsigned i = 0; i + 2 < 4096; i += 2) {
        longest[i] = '.', longest[i + 1] = '/';
    }
    longest[4094] = '\0';
    CHECK_EQ(walk(longest), 0);
    end();
}

static void a_new_file_takes_a_name_and_changes_nothing_else(void) {
    static const char *const names[] = {"new",          "a link", "a link to nothing",
                                        "another name", "a pipe", "a\nb"};
    struct stat status;
    begin();
    write_file("precious", "data");
    CHECK(symlink("precious", "a link") == 0 && symlink("gone", "a link to nothing") == 0);
    CHECK(link("precious", "another name") == 0 && mkfifo("a pipe", 0600) == 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        FILE *stream = file_create(names[i]);
        CHECK(stream != NULL && fputs("new", stream) >= 0 && fclose(stream) == 0);
        CHECK(holds("precious", "data") && access("gone", F_OK) != 0 && holds(names[i], "new"));
        CHECK(lstat(names[i], &status) == 0 && status.st_nlink == 1 && (status.st_mode & 07777) == 0600);
    }
    CHECK(mkdir("folder", 0700) == 0 && file_create("folder") == NULL);
    CHECK(file_create("gone/new") == NULL && file_create(".") == NULL);
    end();
}

static void only_own_files_are_opened_again(void) {
    begin();
    write_file("own", "x");
    write_file("shared", "x");
    CHECK(link("shared", "other") == 0 && symlink("own", "link") == 0 && mkfifo("pipe", 0600) == 0);
    int own = file_keep("own", O_RDWR);
    CHECK(own >= 0);
    close(own);
    CHECK_EQ(file_keep("shared", O_RDWR), -EMLINK);
    CHECK_EQ(file_keep("pipe", O_RDWR), -EMLINK);
    CHECK_EQ(file_keep("link", O_RDWR), -ELOOP);
    CHECK(file_open_own("pipe") == NULL && file_open_own("link") == NULL);
    end();
}

static char noticed[4096];

static void notice(void *context, const char *name, const char *reason) {
    size_t used = strlen(noticed);
    (void)context;
    snprintf(noticed + used, sizeof noticed - used, "%s: %s\n", name, reason);
}

static void what_earlier_runs_left_is_deleted_and_nothing_else(void) {
    struct folder *kept = NULL;
    char name[300];
    begin();
    int place = folder_walk(".", false);
    CHECK_EQ(folder_make_own(place, "s.", &kept), 0);
    CHECK(mkdir("victim", 0700) == 0 && mkdir("victim/inner", 0700) == 0);
    write_file("victim/precious", "data");
    CHECK(symlink("victim", "s.link") == 0 && mkfifo("s.pipe", 0600) == 0);
    CHECK(mkdir("s.left", 0700) == 0 && mkdir("s.left/inner", 0700) == 0 && mkdir("s.left/empty", 0700) == 0);
    CHECK(mkdir("s.left2", 0700) == 0 && mkdir("s.unmarked", 0700) == 0 && mkdir("s.empty", 0700) == 0);
    CHECK(mkdir("s.open", 0700) == 0 && chmod("s.open", 0722) == 0 &&
          symlink("../victim", "s.left2/link") == 0);
    write_file("s.left/.rewarm-own", "");
    write_file("s.left/inner/deep", "stays");
    write_file("s.left2/.rewarm-own", "");
    write_file("s.left2/read.0.0", "goes");
    write_file("s.unmarked/file", "stays");
    noticed[0] = '\0';
    folder_delete_own(place, "s.", true, notice, NULL);
    CHECK(strstr(noticed, "s.link: it is no folder\n") != NULL);
    CHECK(strstr(noticed, "s.pipe: it is no folder\n") != NULL);
    CHECK(strstr(noticed, "s.open: it belongs to another user, or others can write to it\n") != NULL);
    CHECK(strstr(noticed, "s.unmarked: this program has not made it\n") != NULL);
    CHECK(strstr(noticed, "s.left: not all of it can be deleted\n") != NULL);
    CHECK(access("s.left2", F_OK) != 0 && access("s.empty", F_OK) != 0 && access("s.left/empty", F_OK) != 0);
    CHECK(holds("s.left/inner/deep", "stays") && holds("s.unmarked/file", "stays"));
    CHECK(holds("victim/precious", "data") && access("victim/inner", F_OK) == 0);
    /* The folder of a process that runs. */
    snprintf(name, sizeof name, "%s/file", folder_path(kept));
    write_file(name, "x");
    CHECK(folder_delete(kept) && access(name, F_OK) != 0);
    close(place);
    end();
}

/** Whoever owns the folder above may rename it at any moment, and put another one in its place. */
static void a_folder_that_lost_its_name_stays_the_same(void) {
    struct folder *folder = NULL;
    struct stat status;
    char name[300];
    char file[64];
    begin();
    int place = folder_walk(".", false);
    CHECK_EQ(folder_make_own(place, "s.", &folder), 0);
    CHECK(fstat(folder_descriptor(folder), &status) == 0 && (status.st_mode & 07777) == 0700);
    snprintf(file, sizeof file, "%s/result", folder_path(folder));
    char *found = realpath(folder_path(folder), NULL);
    CHECK(found != NULL);
    snprintf(name, sizeof name, "%s", found == NULL ? "" : found);
    free(found);
    CHECK(rename(name, "moved") == 0 && mkdir(name, 0700) == 0);
    FILE *stream = file_create(file);
    CHECK(stream != NULL && fclose(stream) == 0 && access("moved/result", F_OK) == 0);
    CHECK(!folder_delete(folder));
    CHECK(access(name, F_OK) == 0 && access("moved", F_OK) == 0 && access("moved/result", F_OK) != 0);
    close(place);
    end();
}

int main(void) {
    RUN(a_link_is_followed_where_nobody_else_can_change_it);
    RUN(other_ways_end_or_lead_on);
    RUN(a_new_file_takes_a_name_and_changes_nothing_else);
    RUN(only_own_files_are_opened_again);
    RUN(what_earlier_runs_left_is_deleted_and_nothing_else);
    RUN(a_folder_that_lost_its_name_stays_the_same);
    return CHECK_RESULT();
}
