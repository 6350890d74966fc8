/* The command line of first-touch. */
#ifndef FIRST_TOUCH_OPTIONS_H
#define FIRST_TOUCH_OPTIONS_H

#include "latency.h"

#include <stdbool.h>
#include <stdint.h>

struct options {
    /* Where the file system is mounted. */
    const char *mount_path;
    /* The name of the one file in it. */
    const char *file_name;
    /* The file that holds the volume's bytes. */
    const char *backing_path;
    /* Written blocks, `start count` a line; none when NULL. */
    const char *extents_path;
    uint64_t size_bytes;
    /* Stream socket for the line protocol of control.h; its end of file ends the program. -1: none. */
    int control_fd;
    double iops;
    double throughput_mib_s;
    struct latency_model latency;
    uint64_t fetch_concurrency;
    /* Written blocks fetched ahead of a sequential reader on each miss. */
    uint64_t neighbours;
    /* What a request takes when nothing is to be fetched and no limit binds. */
    double read_latency_ms;
    double write_latency_ms;
    /* Blocks are made local at this rate by themselves, in block order; 0: not at all. */
    double background_mib_s;
    /* Fetched bytes count against the throughput limit (once: the read that follows is free). */
    bool fetch_charged;
    /* The first touch makes only the pages it reads local, not the whole block. */
    bool touch_pages;
    /* Every block is local from the start. */
    bool warm;
};

/* Fills `options` from the command line; on error says why on standard error and returns false. */
bool options_parse(struct options *options, int argc, char **argv);

#endif
