/** The engines of the Windows build, the preferred one first. */
#include "engines/engine_overlapped.h"
#include "engines/engine_threads.h"

#include <stddef.h>

const struct engine_ops *const engine_table[] = {&engine_overlapped, &engine_threads, NULL};
