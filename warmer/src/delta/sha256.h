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

/** The same without them. */
void sha256_portable(const void *data, size_t bytes, uint8_t digest[SHA256_BYTES]);

/** Read 64 lower-case hexadecimal digits; false if `text` is anything else. */
bool sha256_parse(const char *text, uint8_t digest[SHA256_BYTES]);

void sha256_print(const uint8_t digest[SHA256_BYTES], char text[SHA256_TEXT]);

#endif
