/** The engines of the Linux build, the preferred one first. */
#include "engines/engine_io_uring.h"
#include "engines/engine_threads.h"

#include <stddef.h>

const struct engine_ops *const engine_table[] = {&engine_io_uring, &engine_threads, NULL};
