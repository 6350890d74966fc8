#ifndef WARMER_OPTIONS_H
#define WARMER_OPTIONS_H

#include "base/diag.h"
#include "commands/progress.h"
#include "device/writes.h"
#include "filesystems/order/order.h"
#include "observe/source.h"
#include "plan/scope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The command of the command line. */
enum command {
    COMMAND_WARM,
    COMMAND_VERIFY,
    COMMAND_INSPECT,
    COMMAND_APPLY,
    COMMAND_EXTENTS,
    COMMAND_OBSERVE,
    COMMAND_RUN,
    COMMAND_DEVICE_USE,
    COMMAND_BENCH,
    COMMAND_MOUNT,
    COMMAND_UNMOUNT,
    COMMAND_HELP,
    COMMAND_VERSION
};

/** The value of --action: four for `run`, three for `device-use`. */
enum action {
    ACTION_NONE,
    ACTION_WARM,
    ACTION_VERIFY,
    ACTION_APPLY,
    ACTION_OBSERVE,
    ACTION_CHECK,
    ACTION_UNMOUNT,
    ACTION_ONLINE,
    ACTION_BOOT
};

/** The checked command line. The caller owns the strings. */
struct options {
    enum command command;
    const char *device;
    const char *map_path;   /**< NULL: the whole device; "-": standard input. */
    const char *first_path; /**< NULL: no blocks come first. */
    bool first_unlimited;   /**< The latency limit begins after these blocks. */
    uint64_t first_most;    /**< So many of them at most, of the blocks to read. */
    const char *state_path; /**< NULL: no state file. */
    char *const *files;     /**< The arguments of `extents`. */
    size_t file_count;
    const char *engine;
    enum scope scope;
    unsigned order;           /**< The sum of enum order_source. */
    bool touch;               /**< Read 4 KiB of each block if that is enough. */
    unsigned depth;           /**< 0: auto. */
    double max_mib_s;         /**< 0: no limit. */
    double polite_latency_ms; /**< 0: no limit. */
    bool has_progress;        /**< --progress was given. */
    enum progress_style progress;
    uint32_t samples;
    double max_p99_ms;
    bool has_seed;
    uint64_t seed;
    enum action action;
    const char *volume;        /**< NULL or vol-… */
    const char *mount;         /**< Of `device-use --action=online`: NULL, a drive letter or a folder. */
    const char *path;          /**< Of `mount`: NULL or a folder. */
    const char *mount_options; /**< Of `mount`: with commas between; empty: none. */
    const char *home;          /**< Where `run` keeps states. */
    const char *attempt;       /**< Of `run --action=apply`: whose state it is. */
    const char *arguments;     /**< What `run` hands on, with blanks between. */
    const char *targets;       /**< Of `bench`: folders and volumes, with blanks between. */
    const char *jobs;          /**< Names, MiB and flags of fio's patterns, with slashes between. */
    unsigned limit_seconds;
    bool install_fio;
    const char *manifest;      /**< Of `apply`: a path or an address; NULL: REWARM_MANIFEST_URL has it. */
    unsigned wait_seconds;     /**< Of `apply`: for each part of the manifest. */
    unsigned patience_seconds; /**< Of `run` and `apply`: for each download that fails. */
    struct writes since; /**< Of `apply`: the counts at the end of an earlier run, if they were given. */
    bool compares;       /**< Of `apply`: read each block before anything else. */
    bool is_image;       /**< Of `apply`: DEVICE is a regular file. */
    unsigned seconds;    /**< Of `observe`: for how long. */
    uint32_t most_blocks;
    const char *output; /**< Of `observe`: a file; "-": standard output. */
    enum source_kind source;
    const char *file; /**< What `bench` copies on Windows, and where. */
    const char *folder;
    const char *cold_arguments; /**< Of the measurement before a warm-up; empty: none. */
};

/** Parse the command line without opening anything. Returns 0, or WARMER_USAGE with the reason in `diag`. */
int options_parse(int count, char *const *arguments, struct options *options, struct diag *diag);

/** The name of a command, as it is typed. */
const char *options_command_name(enum command command);

/** The text of --help. */
const char *options_help(void);

#endif
