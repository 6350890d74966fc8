#include "observe/trace.h"

void trace_sweep(void) {
}
