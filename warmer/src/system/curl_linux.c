#include "system/curl.h"

#include "base/number.h"

#include <string.h>

#define ANSWERED "returned error: "
/** HTTP's codes have three digits. */
#define MOST_CODE 999u
/** curl(1), EXIT CODES. */
enum { UNSUPPORTED_PROTOCOL = 1, NOT_BUILT_IN = 4, HTTP_ERROR = 22, PEER_CERTIFICATE = 60, MISSING = 127 };

enum fault curl_fault(int status, const char *errors) {
    const char *answer = status == HTTP_ERROR ? strstr(errors, ANSWERED) : NULL;
    if (answer != NULL) {
        uint64_t code = 0;
        (void)number_take_after(answer, ANSWERED, MOST_CODE, &code);
        return fault_of_answer((unsigned)code);
    }
    bool is_lasting = (status >= UNSUPPORTED_PROTOCOL && status <= NOT_BUILT_IN) ||
                      status == PEER_CERTIFICATE || status == MISSING;
    return is_lasting ? FAULT_LASTING : FAULT_PASSING;
}
