#ifndef WARMER_WARM_REPORT_H
#define WARMER_WARM_REPORT_H

#include "base/json.h"
#include "commands/options.h"
#include "device/device.h"
#include "device/identity.h"
#include "engines/engine.h"
#include "filesystems/order/order.h"
#include "loop/touch.h"
#include "loop/warm.h"
#include "plan/scope.h"

/** What was read before the rest, as far as it was known in time. */
struct order_told {
    const char *file_systems;  /**< Whose structures; empty or NULL if none was understood. */
    uint64_t structure_blocks; /**< How many of the blocks to read were such. */
    const struct order *order; /**< What was found by files; NULL: nothing. */
};

/** What is known when a warm-up has ended. */
struct warm_report {
    const struct options *options;
    const struct device *device;
    const struct identity *identity;
    const struct engine *engine;
    const char *engine_note;
    const struct scope_result *scope;
    const struct order_told *told;
    const struct touch_result *touch;
    const struct warm_result *result;
};

/** Write the members of a line about the blocks that were asked for first. */
void warm_report_put_first(struct json *json, const struct warm_progress *progress);

/** Print the result on standard output and a message about problems on standard error. Returns the exit
 * status. */
int warm_report_put(const struct warm_report *report);

#endif
