/** Messages travel up to main as text; nothing below main prints or exits. */
#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>

int diag_refuse(struct diag *diag, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(diag->text, sizeof diag->text, format, arguments);
    va_end(arguments);
    return code;
}
