/**
 * `warmer device-use`: what uses a volume here; unmounts it or brings it online first where asked. What
 * killed agents have left goes before that, because the sweeper asks this where there may be some.
 */
#include "base/json.h"
#include "commands/commands.h"
#include "device/find.h"
#include "device/identity.h"
#include "device/use.h"
#include "filesystems/partitions.h"
#include "observe/trace.h"
#include "plan/cold_source.h"
#include "system/folder.h"

#include <stdio.h>

static void put_texts(struct json *json, const char *key, const struct texts *texts) {
    json_open(json, key, '[');
    for (size_t i = 0; i < texts->count; i++) {
        json_text(json, NULL, texts->items[i]);
    }
    json_close(json, ']');
}

/** Asked alone, because a read of a volume that hangs would hang as well. */
static enum boot look_for_boot(const char *path) {
    struct device *device = NULL;
    struct diag refusal = {{0}};
    enum boot found = BOOT_UNKNOWN;
    if (device_open(path, &device, &refusal) != 0) {
        return found;
    }
    struct cold_source *cold = cold_source_open(device, "threads", NULL, NULL);
    if (cold != NULL) {
        struct source source = cold_source_of(cold);
        found = partitions_boot(&source);
    }
    cold_source_close(cold);
    device_close(device);
    return found;
}

/** Whether a device that was named is not known to be another volume. Returns 0 or a refusal's status. */
static int check_volume(const char *path, const char *volume_id, struct diag *diag) {
    struct device *device = NULL;
    struct identity identity;
    int status = device_open(path, &device, diag);
    if (status == 0) {
        identity_find(path, device, &identity);
        status = identity_confirm(&identity, path, volume_id, diag);
        device_close(device);
    }
    return status;
}

int command_device_use(const struct options *options, struct diag *diag) {
    static struct device_use use;
    struct json json = {.stream = stdout};
    char found[512];
    trace_sweep();
    folder_delete_left("");
    const char *path = options->device;
    if (path == NULL && !find_device(options->volume, found, sizeof found)) {
        return diag_refuse(diag, WARMER_NO_DEVICE, "no %s", found);
    }
    int confirmed = path == NULL ? 0 : check_volume(path, options->volume, diag);
    if (confirmed != 0) {
        return confirmed;
    }
    path = path == NULL ? found : path;
    if (options->action == ACTION_UNMOUNT) {
        use_end(path);
    }
    int status = options->action == ACTION_ONLINE ? use_begin(path, options->mount, diag) : 0;
    if (status != 0) {
        return status;
    }
    enum boot boot = options->action == ACTION_BOOT ? look_for_boot(path) : BOOT_UNKNOWN;
    use_find(path, &use);
    json_open(&json, NULL, '{');
    json_text(&json, "event", "use");
    json_text(&json, "volumeId", options->volume);
    put_texts(&json, "mounts", &use.mounts);
    put_texts(&json, "others", &use.others);
    if (boot != BOOT_UNKNOWN) {
        json_bool(&json, "boots", boot == BOOT_THERE);
    }
    json_close(&json, '}');
    json_end_line(&json);
    return WARMER_OK;
}
