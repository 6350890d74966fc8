// clang-format off
/**
 * warmer reads the written blocks of a volume once, so that no later read is a first one.
 *
 * Where things are: one folder is one room, and a room uses only rooms below it (the table in README.md).
 *
 *   main.c               the command line in, the exit status out
 *
 *   commands/            what a user calls
 *     options.c            arguments -> struct options; option_table.c: what each takes; options_help.c: --help
 *     command_warm.c       `warmer warm`; progress.c: how far it is; warm_report.c: how it ended
 *     command_verify.c     `warmer verify`: random 4 KiB reads, percentiles, verdict
 *     command_inspect.c    `warmer inspect`: the device and the engines; nvme_report.c: EBS's statistics
 *     command_apply.c      `warmer apply`: takes the device, waits for the manifest, applies it, reports
 *     command_extents.c    `warmer extents`: where files lie on their disk
 *     command_observe_<system>.c   `warmer observe`: which blocks an application reads, and in which order
 *     command_run.c        `warmer run`: waits for the device, starts the agent, and again if something ends it;
 *                          run_files.c: its downloads, its progress, and what it keeps for the next run
 *     command_bench_<system>.c   `warmer bench`: fio on Linux (bench_place_linux.c: where), a copy on Windows
 *     command_device_use.c `warmer device-use`: what uses a volume
 *     command_mount_<system>.c   `warmer mount`, `warmer unmount`
 *   loop/                reads the blocks of a plan
 *     warm.c               submits reads and collects completions; warm_account.c: the outcome of each read;
 *                          warm_room.c: how many more reads may start, and how large they may be
 *     warm_touch.c         the same with 4 KiB a block (`--touch`); touch.c: measures whether that is enough
 *     depth.c              how many reads are in flight; pace.c: how many bytes a second
 *     polite.c             fewer reads while an application's reads would wait (`--polite-latency-ms`)
 *     state.c              the blocks already read, in a file that survives a kill (`--state`)
 *   apply/               writes the blocks of a manifest
 *     parts.c              the manifest's parts, as they appear
 *     fetching/            feed.c: reads its lines; fetch.c: finds out what is to be written; hand.c: decodes it
 *       load.c               loads packs, or what is needed of them
 *       compare.c            what the device holds (`--compare`)
 *       undo.c               keeps what is overwritten, before it is
 *     check.c              flushes, and compares what is read back
 *     witness.c            whether nobody else has written, by the system's counts
 *     watch.c              looks for whoever else uses the device meanwhile
 *     apply.c              starts these threads, and counts; transfer.c: writes, and reads back
 *     board.c              what these threads share
 *   observe/             records which blocks of a disk are read (Linux)
 *     recording.c          the blocks, in the order of their first reads
 *     source.h             learns of reads from the kernel: source_linux.c
 *       ring_page.c          events, one for each read; histogram.c: counts, one for each block
 *     trace.h              a trace instance that is gone when its process is: trace_linux.c
 *     disk.h               which disk a partition or a device of device-mapper stands on: disk_linux.c
 *   mount/               mounts a volume, and unmounts it (Linux)
 *     mount_options.c      which options a request may give
 *     mount_tables.c       lines of fstab and mountinfo; mounted_linux.c: what is mounted where
 *     file_system_linux.c  what is on the volume, and whether all of it is (tool_linux.c: blkid and mount)
 *     places_linux.c       where it belongs, and which folders may be taken; mount_linux.c: mounts it there
 *     unmount_linux.c      unmounts it. ours: its mounts here; copies: those elsewhere; users: processes
 *   delta/               what is written: manifest.c, pack.c (a pack's index), unpack.c (zstd's decoder at work)
 *     raw.c                packs that nothing compresses
 *     fields.c             one line of JSON; sha256.c: SHA-256
 *   plan/                which blocks are read, and in which order
 *     map.c                the text of extents -> blocks (`--map`, `--first`)
 *     scope.c              removes from the map what no file system uses (`--scope used`)
 *     plan.c               which block is next
 *     order_finder.c       finds what comes before the rest while the first reads are in flight (`--order`)
 *     cold_source.c        reads metadata from a cold device, many reads at a time
 *   filesystems/         what ext4, XFS and NTFS use of a device
 *     used_scan.c          partitions and file systems -> the set of blocks in use (used.c)
 *     metadata.c           partitions and file systems -> the blocks of their own structures
 *     partitions.c         the partition tables GPT and MBR
 *     owners.c             the marks of what has a device or a partition as a whole
 *     tree.c               files of ext4 and XFS: names, times and places
 *     order/               what comes first by its files: walk.c finds the data directories of databases,
 *                          postgres.c and innodb.c follow their lists, recent.c logs and files of the last day
 *     source.c             what all of these read from: a device, a file in a test, a fuzzer's input
 *     ext4/ ntfs/ xfs/     one file system each
 *   engines/             how reads reach the device
 *     engine.h             what an engine is; engine.c: chooses one; engines_<system>.c: this build's table
 *     engine_io_uring.c    Linux (io_uring_ring.c: makes the rings); engine_overlapped.c: Windows
 *     engine_threads.c     every system: one blocking read a thread
 *   device/              the device that is read
 *     device.c             open (read-only), size, read; device_<system>.c: as the system does it
 *     claim_<system>.c     opens one for writing, after every check: only `apply` calls it
 *     identity.c           which EBS volume it is; identity_<system>.c: what the system knows
 *     find_<system>.c      which device an EBS volume is
 *     use_<system>.c       what uses a device. On Linux: family (the disk, and what is made of it), mounts,
 *                          openers (processes), sight (whether all of them are seen), holders (what the kernel
 *                          alone knows), kernel_files, use_tree (what paths lead to)
 *     lock_<system>.c      one warm-up at a time
 *     writes.c             how often it was written to; writes_<system>.c: what the system counts
 *     nvme_<system>.c      asks for EBS's statistics; nvme_log.c: decodes them
 *   system/              what differs between operating systems, one file for each system
 *     clock console file file_extents folder interrupt process state_file stream thread transfer
 *     windows_error; curl_linux.c: what a child curl says
 *     upload_<system>.c    uploads as they are made: put_linux.c by a child curl, new_file_posix.c to a file
 *     folder_linux.c       folders in which other users may change names; walk_linux.c: how a path is followed
 *     memory_kills.c process.c   what they have in common
 *   base/                what needs no system: block_set bytes diag extents json latency number patience random texts
 *                        words
 *
 * Rules: below main.c nothing exits or prints a refusal; it fills a struct diag. There are no global options.
 * No function body asks which system it is built for. Results are 0, a positive answer or -errno.
 */
// clang-format on
#include "base/json.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "system/console.h"

#include <stdio.h>
#include <unistd.h>

/** Tell the person on standard error and the program on standard output. */
static int refuse(const struct options *options, const struct diag *diag, int status) {
    struct json json = {.stream = stdout};
    fprintf(stderr, "warmer: %s\n", diag->text);
    json_open(&json, NULL, '{');
    json_text(&json, "event", "result");
    json_text(&json, "command", options_command_name(options->command));
    json_text(&json, "verdict", "refused");
    json_text(&json, "error", diag->text);
    json_close(&json, '}');
    json_end_line(&json);
    return status;
}

/** A result that nobody got is no success. */
static int finish(int status) {
    if (console_end()) {
        return status;
    }
    fputs("warmer: the result could not be written to standard output\n", stderr);
    return status == WARMER_OK ? WARMER_NO_OUTPUT : status;
}

static int dispatch(const struct options *options, struct diag *diag) {
    switch (options->command) {
    case COMMAND_WARM:
        return command_warm(options, diag);
    case COMMAND_VERIFY:
        return command_verify(options, diag);
    case COMMAND_INSPECT:
        return command_inspect(options, diag);
    case COMMAND_APPLY:
        return command_apply(options, diag);
    case COMMAND_EXTENTS:
        return command_extents(options, diag);
    case COMMAND_BENCH:
        return command_bench(options, diag);
    case COMMAND_OBSERVE:
        return command_observe(options, diag);
    case COMMAND_RUN:
        return command_run(options, diag);
    case COMMAND_DEVICE_USE:
        return command_device_use(options, diag);
    case COMMAND_MOUNT:
        return command_mount(options, diag);
    case COMMAND_UNMOUNT:
        return command_unmount(options, diag);
    case COMMAND_VERSION:
        puts("warmer " WARMER_VERSION);
        return WARMER_OK;
    case COMMAND_HELP:
    default:
        fputs(options_help(), stdout);
        return WARMER_OK;
    }
}

int main(int count, char **arguments) {
    struct options options;
    struct diag diag = {{0}};
    if (!console_prepare(&count, &arguments)) {
        return WARMER_NO_OUTPUT;
    }
    int status = options_parse(count, arguments, &options, &diag);
    if (status == 0) {
        if (!options.has_progress && isatty(STDERR_FILENO)) {
            options.progress = PROGRESS_BAR;
        }
        status = dispatch(&options, &diag);
    }
    return finish(diag.text[0] == '\0' ? status : refuse(&options, &diag, status));
}
