#ifndef WARMER_SHA256_H
#define WARMER_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32u
/** As lower-case hexadecimal digits, with the zero at the end. */
#define SHA256_TEXT (2 * SHA256_BYTES + 1)

/** The SHA-256 of `bytes` bytes, with the processor's own instructions where it has them. */
void sha256(const void *data, size_t bytes, uint8_t digest[SHA256_BYTES]);

/** So many streams sha256_each takes. */
#define SHA256_STREAMS 2u

/** The SHA-256 of each of one or two streams; two at once take little longer than one. */
void sha256_each(unsigned streams, const uint8_t *const data[], const size_t bytes[],
                 uint8_t digests[][SHA256_BYTES]);

/** The SHA-256 of one stream without these instructions. */
void sha256_portable(const void *data, size_t bytes, uint8_t digest[SHA256_BYTES]);

/** Read 64 lower-case hexadecimal digits; false if `text` is anything else. */
bool sha256_parse(const char *text, uint8_t digest[SHA256_BYTES]);

void sha256_print(const uint8_t digest[SHA256_BYTES], char text[SHA256_TEXT]);

#endif
