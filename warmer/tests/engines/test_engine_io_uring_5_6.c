/**
 * io_uring as Linux 5.6 has it: plain completions, no timed wait, and here also no registered buffer and
 * file. The engine is compiled once more with what is newer taken away, because no option of a new kernel
 * does that.
 */
#include <linux/io_uring.h>

#undef IORING_SETUP_COOP_TASKRUN
#undef IORING_SETUP_SINGLE_ISSUER
#undef IORING_SETUP_DEFER_TASKRUN
/* A flag that no kernel knows. */
#define IORING_SETUP_COOP_TASKRUN (1u << 30)
#define IORING_SETUP_SINGLE_ISSUER (1u << 30)
#define IORING_SETUP_DEFER_TASKRUN (1u << 30)
#undef IORING_FEAT_EXT_ARG
#define IORING_FEAT_EXT_ARG 0u
#define IORING_REGISTER_BUFFERS 0xffffu
#define IORING_REGISTER_FILES 0xffffu
#define IORING_REGISTER_IOWQ_MAX_WORKERS 0xffffu
#include "engines/engine_io_uring.c"
#include "engines/io_uring_ring.c"

#define ENGINE engine_io_uring
#include "engine_cases.h"

int main(void) {
    return run_engine_cases();
}
