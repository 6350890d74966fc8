#ifndef WARMER_ENGINE_IO_URING_H
#define WARMER_ENGINE_IO_URING_H

#include "engines/engine.h"

/** Linux's io_uring, used through plain system calls. */
extern const struct engine_ops engine_io_uring;

#endif
