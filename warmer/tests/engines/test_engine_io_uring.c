#include "engines/engine_io_uring.h"

#define ENGINE engine_io_uring
#include "engine_cases.h"

int main(void) {
    return run_engine_cases();
}
