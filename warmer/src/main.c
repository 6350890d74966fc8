/**
 * warmer: reads the written blocks of a volume, so that none is slow when it is needed.
 *
 * Where things are, from here down:
 *
 *   main.c             this map; command line in, exit status out
 *   options.c          arguments -> struct options; options_help.c: what they mean; pure
 *   command_warm.c     `warmer warm`: puts the parts below together; warm_report.c: and says how it ended
 *   command_verify.c   `warmer verify`: random 4 KiB reads, percentiles, verdict
 *   command_inspect.c  `warmer inspect`: what the device is, which engines work
 *   command_extents.c  `warmer extents`: where files lie; file_extents_*.c: as the system says
 *   map.c              text of extents -> blocks, every refusal with its line; pure
 *   scope.c            `--scope used`: takes out of the map what no file system uses
 *   cold_source.c      reads metadata from a cold device, many reads at a time
 *   used_scan.c        partitions and file systems -> used.c, a set of blocks
 *   metadata.c         the same -> where they keep their own structures, which come first;
 *                      metadata_finder.c: found while the first reads are under way
 *   partitions.c ext4_*.c xfs_*.c ntfs_*.c   what lies where on disk; through a source.h, pure
 *   plan.c             which block next; pure
 *   warm.c             the loop: submit, reap, drain; warm_account.c: what became of each read;
 *                      warm_room.c: how many more may start, and how large
 *   touch.c            `--touch`: is one page a block enough here? warm_touch.c: then so it is done
 *   depth.c pace.c     how many reads at a time, how many bytes a second; pure
 *   polite.c           less while the application's reads would wait; pure
 *   engine.h           what an engine is; engines_<system>.c lists this build's
 *   engine_*.c         io_uring (io_uring_ring.c makes its rings), overlapped, threads (made of
 * thread_<system>.c) device_*.c         open (read-only), size, read; one file per system identity*.c which
 * EBS volume the device is nvme_log.c         EBS's statistics, decoded; nvme_*.c: asked for, nvme_report.c:
 * shown lock_*.c           one warm-up a device state.c            what is read survives a kill;
 * state_file_*.c: a file in memory progress.c json.c  a bar or JSON lines block_set*.c extents.c latency.c
 * random.c diag.c   the small tools clock_*.c console_*.c file_*.c interrupt_*.c windows_error.c   the small
 * differences between systems
 *
 * Rules: nothing below main exits or prints a refusal (it fills a struct diag), there are no option globals,
 * no function body asks which system it is built for, and results are 0, a positive answer or -errno.
 */
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

static int dispatch(const struct options *options, struct diag *diag) {
    switch (options->command) {
    case COMMAND_WARM:
        return command_warm(options, diag);
    case COMMAND_VERIFY:
        return command_verify(options, diag);
    case COMMAND_INSPECT:
        return command_inspect(options, diag);
    case COMMAND_EXTENTS:
        return command_extents(options, diag);
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
    console_prepare(&count, &arguments);
    int status = options_parse(count, arguments, &options, &diag);
    if (status == 0) {
        if (!options.has_progress && isatty(STDERR_FILENO)) {
            options.progress = PROGRESS_BAR;
        }
        status = dispatch(&options, &diag);
    }
    return diag.text[0] == '\0' ? status : refuse(&options, &diag, status);
}
