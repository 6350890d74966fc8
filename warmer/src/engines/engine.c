#include "engines/engine.h"

#include <stdio.h>
#include <string.h>

const struct engine_ops *engine_find(const char *name) {
    for (size_t i = 0; engine_table[i] != NULL; i++) {
        if (strcmp(engine_table[i]->name, name) == 0) {
            return engine_table[i];
        }
    }
    return NULL;
}

static int open_named(const char *name, const struct engine_settings *settings, struct engine **opened,
                      struct diag *diag) {
    const struct engine_ops *ops = engine_find(name);
    if (ops == NULL) {
        return diag_refuse(diag, WARMER_USAGE, "engine %s is not in this build", name);
    }
    int failure = ops->open(settings, opened);
    if (failure != 0) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot use engine %s: %s", name, strerror(-failure));
    }
    return 0;
}

int engine_open(const char *name, const struct engine_settings *settings, struct engine **opened, char *note,
                size_t note_size, struct diag *diag) {
    note[0] = '\0';
    if (strcmp(name, "auto") != 0) {
        return open_named(name, settings, opened, diag);
    }
    for (size_t i = 0; engine_table[i] != NULL; i++) {
        int failure = engine_table[i]->open(settings, opened);
        if (failure == 0) {
            return 0;
        }
        size_t used = strlen(note);
        snprintf(note + used, note_size - used, "%s%s refused: %s", used > 0 ? "; " : "",
                 engine_table[i]->name, strerror(-failure));
    }
    return diag_refuse(diag, WARMER_CANNOT_OPEN, "no engine works here: %s", note);
}

void engine_close(struct engine *engine) {
    if (engine != NULL) {
        engine->ops->close(engine);
    }
}
