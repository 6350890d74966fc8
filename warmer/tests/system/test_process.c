/** Programs that this one starts: this test itself, in the roles that its first word names. */
#include "check.h"
#include "system/clock.h"
#include "system/file.h"
#include "system/folder.h"
#include "system/memory_kills.h"
#include "system/process.h"

#include <stdlib.h>
#include <unistd.h>
#include <utime.h>

#define HANGS_NS (300 * NS_PER_SECOND)

static char program[1024];

/** Start this test with the words and wait for its end, which takes wine long where much else runs. */
static struct process *run(const char *role, const char *word, const char *input) {
    const char *words[] = {program, role, word, NULL};
    struct process *process = NULL;
    CHECK_EQ(process_start(words, input, &process), 0);
    CHECK(process != NULL && process_wait(process, clock_now_ns() + HANGS_NS));
    return process;
}

static int print_words(int count, char **words) {
    puts("{\"no\":\"line before the last counts\"}");
    printf("{\"count\":%d,\"word\":\"%s\"}\n", count, words[2]);
    puts("{\"this\":\"is not whole");
    printf("{\"nor\":\"is this\"}");
    fputs("a word to a person\n", stderr);
    return 7;
}

static void its_last_object_its_errors_and_its_status_are_known(void) {
    struct process *process = run("print", "two words", NULL);
    CHECK_EQ(process_status(process), 7);
    CHECK_TEXT(process_line(process), "{\"count\":3,\"word\":\"two words\"}");
    CHECK(strncmp(process_errors(process), "a word to a person", 18) == 0);
    process_close(process);
}

static void words_arrive_as_they_are(void) {
    const char *const hard[] = {"a \\\" b", "ends in \\", "\\\\server\\a b\\", "", "--x=1 2"};
    for (unsigned i = 0; i < sizeof hard / sizeof hard[0]; i++) {
        char expected[64];
        struct process *process = run("print", hard[i], NULL);
        snprintf(expected, sizeof expected, "{\"count\":3,\"word\":\"%s\"}", hard[i]);
        CHECK_TEXT(process_line(process), expected);
        process_close(process);
    }
}

static int echo_input(void) {
    char line[256] = "";
    CHECK(fgets(line, sizeof line, stdin) != NULL);
    fputs(line, stdout);
    return fgets(line, sizeof line, stdin) == NULL ? 0 : 1;
}

static void its_input_is_given_and_ends(void) {
    struct process *process = run("echo", "", "{\"from\":\"outside\"}\n");
    CHECK_EQ(process_status(process), 0);
    CHECK_TEXT(process_line(process), "{\"from\":\"outside\"}");
    process_close(process);
    process = run("echo", "", NULL);
    CHECK_EQ(process_status(process), 0);
    process_close(process);
}

/** More than a pipe holds, and lines longer than any of ours. */
static int print_much(void) {
    for (unsigned i = 0; i < 70000; i++) {
        fputs(i == 0 ? "{" : "much", stdout);
    }
    puts("}\n{\"small\":1}");
    for (unsigned i = 0; i < 2000; i++) {
        fprintf(stderr, "error %u\n", i);
    }
    return 0;
}

static void of_much_output_the_end_is_kept(void) {
    struct process *process = run("much", "", NULL);
    const char *errors = process_errors(process);
    size_t length = strlen(errors);
    CHECK_TEXT(process_line(process), "{\"small\":1}");
    CHECK_BETWEEN(length, 5999, 6000);
    CHECK(strstr(errors, "error 1999") != NULL && strstr(errors, "error 999\n") == NULL);
    process_close(process);
}

static int stay(void) {
    puts("{\"stays\":1}");
    fflush(stdout);
    clock_pause_ms(60000);
    return 0;
}

static void one_that_stays_is_waited_for_and_ended(void) {
    const char *words[] = {program, "stay", "", NULL};
    struct process *process = NULL;
    CHECK_EQ(process_start(words, NULL, &process), 0);
    for (unsigned i = 0; i < 1000 && process_line(process)[0] == '\0'; i++) {
        CHECK(!process_wait(process, clock_now_ns() + 50 * NS_PER_MILLISECOND));
    }
    CHECK_TEXT(process_line(process), "{\"stays\":1}");
    process_stop(process, 1);
    CHECK(process_wait(process, clock_now_ns()));
    CHECK(process_status(process) != 0);
    process_close(process);
}

static void what_is_no_program_is_said_to_be_none(void) {
    const char *words[] = {"no-such-program-anywhere", NULL};
    struct process *process = NULL;
    int failure = process_start(words, NULL, &process);
    if (failure == 0) {
        CHECK(process_wait(process, clock_now_ns() + HANGS_NS));
        CHECK_EQ(process_status(process), 127);
    }
    process_close(process);
}

static void write_file(const char *path, const char *text) {
    FILE *stream = file_create(path);
    CHECK(stream != NULL && fputs(text, stream) >= 0 && fclose(stream) == 0);
}

static void folders_are_made_and_old_files_forgotten(void) {
    char path[600];
    struct folder *made = NULL;
    CHECK_EQ(folder_make_temporary("test-home", &made), 0);
    const char *work = folder_path(made);
    snprintf(path, sizeof path, "%s/a/b", work);
    CHECK_EQ(folder_make(path), 0);
    CHECK_EQ(folder_make(path), 0);
    const char *const names[] = {"old", "new", "keep"};
    for (unsigned i = 0; i < 3; i++) {
        struct utimbuf times = {.modtime = 1000000};
        snprintf(path, sizeof path, "%s/%s", work, names[i]);
        write_file(path, "x");
        CHECK(i == 1 || utime(path, &times) == 0);
    }
    folder_forget(work, 7, "keep");
    snprintf(path, sizeof path, "%s/old", work);
    CHECK(access(path, F_OK) != 0);
    snprintf(path, sizeof path, "%s/new/no", work);
    CHECK(folder_make(path) != 0);
    snprintf(path, sizeof path, "%s/a/b", work);
    CHECK_EQ(file_delete(path), 0);
    snprintf(path, sizeof path, "%s/a", work);
    CHECK_EQ(file_delete(path), 0);
    CHECK(folder_delete(made));
    (void)file_delete("test-home");
}

static void kills_for_memory_are_counted(void) {
    write_file("test-vmstat", "pgfault 71\noom_kill 2\npgmajfault 3\n");
    CHECK_EQ(memory_kills("test-vmstat"), 2);
    write_file("test-vmstat", "pgfault 71\n");
    CHECK_EQ(memory_kills("test-vmstat"), 0);
    CHECK_EQ(file_delete("test-vmstat"), 0);
    CHECK_EQ(memory_kills("test-vmstat"), 0);
}

static int play(int count, char **words) {
    return strcmp(words[1], "print") == 0  ? print_words(count, words)
           : strcmp(words[1], "echo") == 0 ? echo_input()
           : strcmp(words[1], "much") == 0 ? print_much()
                                           : stay();
}

int main(int count, char **words) {
    if (count > 1) {
        return play(count, words);
    }
    CHECK(process_own_program(program, sizeof program));
    RUN(its_last_object_its_errors_and_its_status_are_known);
    RUN(words_arrive_as_they_are);
    RUN(its_input_is_given_and_ends);
    RUN(of_much_output_the_end_is_kept);
    RUN(one_that_stays_is_waited_for_and_ended);
    RUN(what_is_no_program_is_said_to_be_none);
    RUN(folders_are_made_and_old_files_forgotten);
    RUN(kills_for_memory_are_counted);
    return CHECK_RESULT();
}
