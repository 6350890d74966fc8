/** Maps and lists: what is taken is ascending (the map) and within the device. */
#include "fuzz_target.h"
#include "plan/map.h"

#include <stdlib.h>

#define BLOCKS UINT64_C(134217728)

static int check(void *context, uint64_t start, uint64_t count) {
    uint64_t *end = context;
    if (count == 0 || start >= BLOCKS || count > BLOCKS - start || (end != NULL && start < *end)) {
        abort();
    }
    if (end != NULL) {
        *end = start + count;
    }
    return 0;
}

static void parse(enum map_order order, void *context, const uint8_t *data, size_t bytes) {
    struct map_parser parser;
    struct diag diag = {{0}};
    size_t half = bytes / 2;
    map_parser_init(&parser, BLOCKS, order, check, context);
    if (map_parser_feed(&parser, (const char *)data, half, &diag) == 0 &&
        map_parser_feed(&parser, (const char *)data + half, bytes - half, &diag) == 0) {
        (void)map_parser_finish(&parser, &diag);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    uint64_t end = 0;
    parse(MAP_ASCENDING, &end, data, bytes);
    parse(MAP_ANY, NULL, data, bytes);
    return 0;
}
