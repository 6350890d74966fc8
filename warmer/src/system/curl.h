#ifndef WARMER_CURL_H
#define WARMER_CURL_H

#include "base/patience.h"

/** What a child `curl` with --fail and --show-error says by its exit status and its standard error. */
enum fault curl_fault(int status, const char *errors);

#endif
