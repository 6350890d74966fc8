/* first-touch: an EBS volume that was just created from a snapshot, as a file.
 *
 *   options      the command line
 *   extents      which blocks the snapshot holds
 *   blocks       written, local, read: what is known of each block (page_mask: the pages of one)
 *   fetch        first touches: shared, limited in number, drawn from latency
 *   streams      who reads sequentially and has neighbours fetched ahead
 *   limits       IOPS and throughput, as virtual clocks
 *   timers       what is due when
 *   faults       EIO, slow blocks and stalls for scenarios
 *   volume       a request's way through all of these
 *   control      the socket through which the other side asks and tells
 *   file_system  FUSE, and the loop around everything
 */
#include "file_system.h"

#define EXIT_USAGE 2
#define EXIT_CANNOT_OPEN 3

int main(int argc, char **argv) {
    struct options options;
    struct volume volume;

    if (!options_parse(&options, argc, argv))
        return EXIT_USAGE;
    if (!volume_create(&volume, &options))
        return EXIT_CANNOT_OPEN;
    return file_system_run(&volume);
}
