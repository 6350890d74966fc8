#ifndef WARMER_ENGINE_THREADS_H
#define WARMER_ENGINE_THREADS_H

#include "engines/engine.h"

/** One blocking read per thread: the reference engine, which every system has. */
extern const struct engine_ops engine_threads;

#endif
