#ifndef WARMER_ENGINE_THREADS_H
#define WARMER_ENGINE_THREADS_H

#include "engines/engine.h"

/** One blocking read a thread: the reference engine, on every system. */
extern const struct engine_ops engine_threads;

#endif
