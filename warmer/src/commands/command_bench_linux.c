/**
 * `warmer bench`: runs each pattern of fio on each target, and uploads what fio says: a line for each run,
 * then its JSON. A run that fails is one without figures, and the others go on.
 */
#include "base/json.h"
#include "base/number.h"
#include "base/words.h"
#include "commands/bench_place.h"
#include "commands/commands.h"
#include "device/find.h"
#include "device/identity.h"
#include "system/clock.h"
#include "system/file.h"
#include "system/file_linux.h"
#include "system/interrupt.h"
#include "system/process.h"
#include "system/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/** What a run is called that never came to fio, and that fio did not end in time. */
#define NOT_RUN 75
#define TIMED_OUT 124
#define STOP_SECONDS 30u
#define INSTALL_SECONDS 600u
#define PATH_BYTES 4096u
/** Of folders that are left alone so many are named. */
#define MOST_NAMED 3u

/** One pattern: its name, the MiB of its scratch files, and fio's flags. */
struct job {
    const char *name;
    uint64_t mib;
    const char *const *flags;
    size_t flag_count;
};

struct bench {
    const struct options *options;
    struct folder *work;
    int lock; /**< A file that is locked as long as this process lives. */
    char result_path[1100];
    char output_path[1100]; /**< What fio writes. */
    char fio[1100];         /**< A name of it by which observers know whose reads these are. */
    FILE *result;
    unsigned runs;
    unsigned failed;
};

/** One line of plain ASCII, and of a long text its end: names of files may have any bytes. */
static void note(const struct bench *bench, const char *text) {
    size_t length = strlen(text);
    fputs("#note ", bench->result);
    for (text += length > 400 ? length - 400 : 0; *text != '\0'; text++) {
        fputc(*text == '\n' ? ' ' : *text >= ' ' && *text < 0x7f ? *text : '?', bench->result);
    }
    fputc('\n', bench->result);
}

/** Run a program to its end or its time limit. Its status; its errors become a note unless it is 0. */
static int call(const struct bench *bench, const struct words *words, unsigned seconds) {
    struct process *process = NULL;
    int failure = process_start(words->items, NULL, &process);
    if (failure != 0) {
        note(bench, strerror(-failure));
        return NOT_RUN;
    }
    bool has_ended = process_wait(process, clock_now_ns() + seconds * NS_PER_SECOND);
    if (!has_ended) {
        process_stop(process, STOP_SECONDS);
    }
    int status = has_ended ? process_status(process) : TIMED_OUT;
    if (status != 0 && process_errors(process)[0] != '\0') {
        note(bench, process_errors(process));
        fputs(process_errors(process), stderr);
    }
    process_close(process);
    return status;
}

static int run_fio(const struct bench *bench, const struct job *job, const char *where, const char *option,
                   bool is_device) {
    struct words words = {.items = {bench->fio, "--output-format=json"}, .count = 2};
    char name[256];
    char output[1200];
    char place[PATH_BYTES];
    snprintf(name, sizeof name, "--name=%s", job->name);
    snprintf(output, sizeof output, "--output=%s", bench->output_path);
    snprintf(place, sizeof place, "%s%s", option, where);
    words_add(&words, output);
    if (is_device) {
        /* Nothing ever writes to a device: fio itself refuses it then. */
        words_add(&words, "--readonly");
    }
    words_add(&words, name);
    words_add(&words, place);
    for (size_t i = 0; i < job->flag_count; i++) {
        /* Of a device all of it is read, not the size of a scratch file. */
        if (!is_device || strncmp(job->flags[i], "--size=", 7) != 0) {
            words_add(&words, job->flags[i]);
        }
    }
    return call(bench, &words, bench->options->limit_seconds);
}

static void put_run(const struct bench *bench, const char *target, const struct job *job,
                    const struct bench_place *place) {
    fprintf(bench->result, "#run target=%s pattern=%s fileSystem=%s source=%s serial=%s\n", target, job->name,
            place->file_system, place->source, place->serial);
}

/** What looks like a folder of an earlier run, and is left alone. */
struct strangers {
    const struct bench *bench;
    const char *folder;
    unsigned count;
};

static void note_stranger(void *context, const char *name, const char *reason) {
    struct strangers *strangers = context;
    char text[PATH_BYTES];
    if (strangers->count++ < MOST_NAMED) {
        snprintf(text, sizeof text, "%.2000s/%s is left alone, because %s", strangers->folder, name, reason);
        note(strangers->bench, text);
    }
}

static bool make_scratch(const struct bench *bench, const char *folder, int place, const struct job *job,
                         struct folder **scratch) {
    char text[PATH_BYTES] = "";
    struct strangers strangers = {bench, folder, 0};
    uint64_t free_mib = bench_place_free_mib(place);
    if (free_mib < job->mib) {
        snprintf(text, sizeof text, "%.2000s has %llu MiB free, the scratch files need %llu MiB", folder,
                 (unsigned long long)free_mib, (unsigned long long)job->mib);
    } else {
        int failure = bench_place_make_scratch(place, scratch, note_stranger, &strangers);
        if (failure != 0) {
            snprintf(text, sizeof text, "no folder can be made in %.2000s: %s", folder,
                     folder_explain(failure));
        }
    }
    if (text[0] != '\0') {
        note(bench, text);
    }
    return text[0] == '\0';
}

/** fio gets its folder by a descriptor, so that it is the one that was made, whatever has its name now. */
static int run_in(const struct bench *bench, const char *folder, int place, const struct job *job) {
    char path[64];
    struct folder *scratch = NULL;
    if (!make_scratch(bench, folder, place, job, &scratch)) {
        return NOT_RUN;
    }
    /* fio looks at the name itself, and not at what it leads to: hence the dot. */
    snprintf(path, sizeof path, "%s/.", folder_path(scratch));
    int status = run_fio(bench, job, path, "--directory=", false);
    if (!folder_delete(scratch)) {
        fprintf(stderr, "warmer: scratch files in %s could not all be deleted\n", folder);
    }
    return status;
}

static int run_on_folder(const struct bench *bench, const char *folder, const struct job *job) {
    char text[PATH_BYTES];
    struct bench_place found = {{0}, {0}, {0}};
    int way = folder_walk(folder, false);
    int place = way < 0 ? way : folder_open(way);
    if (place >= 0) {
        bench_place_find(place, &found);
    }
    put_run(bench, folder, job, &found);
    int status = NOT_RUN;
    if (place >= 0) {
        status = run_in(bench, folder, place, job);
        close(place);
    } else if (place == -ENOENT || place == -ENOTDIR) {
        snprintf(text, sizeof text, "there is no folder %.2000s", folder);
        note(bench, text);
    } else {
        snprintf(text, sizeof text, "%.2000s cannot be opened: %s", folder, folder_explain(place));
        note(bench, text);
    }
    if (way >= 0) {
        close(way);
    }
    return status;
}

/** Which volume the device is, in the form of a serial number; empty where nobody knows. */
static void find_volume(struct bench_place *place) {
    struct device *device = NULL;
    struct diag refusal = {{0}};
    if (device_open(place->source, &device, &refusal) == 0) {
        struct identity identity;
        identity_find(place->source, device, &identity);
        if (identity.volume_id[0] != '\0') {
            snprintf(place->serial, sizeof place->serial, "vol%.17s", identity.volume_id + strlen("vol-"));
        }
    }
    device_close(device);
}

static int run_on_volume(const struct bench *bench, const char *volume_id, const struct job *job) {
    struct bench_place place = {{0}, {0}, {0}};
    char text[300];
    bool is_there = find_device(volume_id, place.source, sizeof place.source);
    if (is_there) {
        find_volume(&place);
    }
    put_run(bench, volume_id, job, &place);
    if (!is_there) {
        snprintf(text, sizeof text, "there is no %.255s", place.source);
        note(bench, text);
        return NOT_RUN;
    }
    return run_fio(bench, job, place.source, "--filename=", true);
}

/** What fio has written, at the end of the result. */
static void append_output(const struct bench *bench) {
    char bytes[4096];
    FILE *stream = file_open_own(bench->output_path);
    for (size_t count = 1; stream != NULL && count > 0;) {
        count = fread(bytes, 1, sizeof bytes, stream);
        fwrite(bytes, 1, count, bench->result);
    }
    if (stream != NULL) {
        fclose(stream);
        (void)file_delete(bench->output_path);
    }
    fputc('\n', bench->result);
}

static void run_one(struct bench *bench, const char *target, const struct job *job) {
    bool is_volume = strncmp(target, "vol-", 4) == 0;
    int status = is_volume ? run_on_volume(bench, target, job) : run_on_folder(bench, target, job);
    bench->runs++;
    bench->failed += status != 0;
    fprintf(bench->result, "#status %d\n", status);
    append_output(bench);
}

/** Patterns are separated by slashes. */
static void run_all(struct bench *bench) {
    static struct words jobs;
    static struct words targets;
    words_split(&jobs, bench->options->jobs);
    words_split(&targets, bench->options->targets);
    for (size_t i = 0; i + 1 < jobs.count; i++) {
        struct job job = {jobs.items[i], UINT64_MAX, &jobs.items[i + 2], 0};
        (void)number_take(jobs.items[i + 1], UINT64_MAX, &job.mib);
        for (i += 2; i < jobs.count && strcmp(jobs.items[i], "/") != 0; i++) {
            job.flag_count++;
        }
        for (size_t j = 0; j < targets.count && !interrupt_requested(); j++) {
            run_one(bench, targets.items[j], &job);
        }
    }
}

/** Find a program in the folders of PATH. Returns whether one has it. */
static bool find_program(const char *name, char *path, size_t size) {
    const char *folder = getenv("PATH");
    bool found = false;
    while (folder != NULL && !found) {
        size_t length = strcspn(folder, ":");
        snprintf(path, size, "%.*s/%s", (int)length, folder, name);
        found = access(path, X_OK) == 0;
        folder = folder[length] == ':' ? folder + length + 1 : NULL;
    }
    return found;
}

static bool has_program(const char *name) {
    char path[PATH_BYTES];
    return find_program(name, path, sizeof path);
}

/** With the package manager that this machine has; its errors go to standard error. */
static void install_fio(const struct bench *bench) {
    static const char *const ways[] = {
        "apt-get update -qq",
        "apt-get install -y -qq --no-install-recommends fio",
        "dnf install -y -q fio",
        "yum install -y -q fio",
        "zypper --quiet --non-interactive install fio",
    };
    setenv("DEBIAN_FRONTEND", "noninteractive", 1);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && !has_program("fio"); i++) {
        static struct words words;
        words = (struct words){.count = 0};
        words_split(&words, ways[i]);
        if (has_program(words.items[0])) {
            (void)call(bench, &words, INSTALL_SECONDS);
        }
    }
}

static int require_fio(struct bench *bench, struct diag *diag) {
    char path[PATH_BYTES];
    if (!has_program("fio") && bench->options->install_fio) {
        install_fio(bench);
    }
    if (!find_program("fio", path, sizeof path)) {
        return diag_refuse(diag, WARMER_NO_FIO, "%s",
                           bench->options->install_fio
                               ? "fio could not be installed"
                               : "fio is not installed; with installFio in the request it may be");
    }
    snprintf(bench->fio, sizeof bench->fio, "%s/warmer-fio", folder_path(bench->work));
    if (path[0] != '/' || symlinkat(path, folder_descriptor(bench->work), "warmer-fio") != 0) {
        snprintf(bench->fio, sizeof bench->fio, "fio");
    }
    return 0;
}

/** One benchmark a machine; the lock goes with this process. */
static int prepare(struct bench *bench, struct diag *diag) {
    char lock[1100];
    const char *home = bench->options->home;
    if (bench->options->targets == NULL) {
        return diag_refuse(diag, WARMER_USAGE,
                           "copies are measured on Windows; here --targets and --jobs are needed");
    }
    snprintf(lock, sizeof lock, "%.1000s/benchmark.lock", home);
    int failure = folder_make(home);
    bench->lock = failure == 0 ? file_keep(lock, O_RDWR | O_CREAT) : failure;
    if (bench->lock < 0) {
        return diag_refuse(diag, WARMER_NO_TRANSFER, "could not make %s: %s", lock,
                           folder_explain(bench->lock));
    }
    if (flock(bench->lock, LOCK_EX | LOCK_NB) != 0) {
        return diag_refuse(diag, WARMER_BUSY, "another benchmark is running on this instance");
    }
    failure = folder_make_temporary(home, &bench->work);
    if (failure != 0) {
        return diag_refuse(diag, WARMER_NO_TRANSFER, "could not make a folder in %s: %s",
                           file_temporary_folder(home), folder_explain(failure));
    }
    snprintf(bench->result_path, sizeof bench->result_path, "%s/result", folder_path(bench->work));
    snprintf(bench->output_path, sizeof bench->output_path, "%s/fio.json", folder_path(bench->work));
    bench->result = file_create(bench->result_path);
    return bench->result != NULL
               ? 0
               : diag_refuse(diag, WARMER_NO_TRANSFER, "could not make the result: %s", strerror(errno));
}

static int upload(struct bench *bench, struct diag *diag) {
    static const struct transfer_patience patience = {.seconds = 120, .retries = 5};
    const char *url = getenv("REWARM_RESULT_URL");
    char why[256] = "there is no address in REWARM_RESULT_URL";
    bool is_written = fclose(bench->result) == 0;
    bench->result = NULL;
    if (!is_written || url == NULL || transfer_put(url, bench->result_path, patience, why, sizeof why) != 0) {
        return diag_refuse(diag, WARMER_NO_TRANSFER, "could not upload the result: %s", why);
    }
    return 0;
}

static void report(const struct bench *bench) {
    struct json json = {.stream = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "event", "result");
    json_text(&json, "command", "benchmark");
    json_unsigned(&json, "runs", bench->runs);
    json_unsigned(&json, "failed", bench->failed);
    json_close(&json, '}');
    json_end_line(&json);
}

static void close_bench(struct bench *bench) {
    if (bench->result != NULL) {
        fclose(bench->result);
    }
    (void)folder_delete(bench->work);
}

int command_bench(const struct options *options, struct diag *diag) {
    static struct bench bench;
    bench.options = options;
    interrupt_catch();
    process_end_with_starter();
    int status = prepare(&bench, diag);
    if (status == 0) {
        status = require_fio(&bench, diag);
    }
    if (status == 0) {
        run_all(&bench);
        status =
            interrupt_requested() ? diag_refuse(diag, WARMER_ENDED, "interrupted") : upload(&bench, diag);
    }
    if (status == 0) {
        report(&bench);
    }
    close_bench(&bench);
    return status;
}
