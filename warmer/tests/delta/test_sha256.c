/** SHA-256: published examples, and the processor's instructions against the portable code. */
#include "check.h"
#include "delta/sha256.h"

static void the_published_examples_are_met(void) {
    static const char *const examples[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (unsigned i = 0; i < 3; i++) {
        uint8_t digest[SHA256_BYTES];
        char text[SHA256_TEXT];
        sha256(examples[i][0], strlen(examples[i][0]), digest);
        sha256_print(digest, text);
        CHECK_TEXT(text, examples[i][1]);
        sha256_portable(examples[i][0], strlen(examples[i][0]), digest);
        sha256_print(digest, text);
        CHECK_TEXT(text, examples[i][1]);
    }
}

static void both_ways_agree_at_every_length_and_alignment(void) {
    static uint8_t bytes[1024];
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7 + (i >> 5));
    }
    for (unsigned length = 0; length < 600; length++) {
        uint8_t digest[SHA256_BYTES];
        uint8_t portable[SHA256_BYTES];
        sha256(bytes + length % 17, length, digest);
        sha256_portable(bytes + length % 17, length, portable);
        CHECK(memcmp(digest, portable, sizeof digest) == 0);
    }
}

/** Two blocks at once have the digests that the portable code gives each alone. */
static void check_two(const uint8_t *const data[2], const size_t lengths[2]) {
    uint8_t digests[SHA256_STREAMS][SHA256_BYTES];
    uint8_t alone[SHA256_BYTES];
    sha256_each(2, data, lengths, digests);
    for (unsigned s = 0; s < SHA256_STREAMS; s++) {
        sha256_portable(data[s], lengths[s], alone);
        CHECK(memcmp(digests[s], alone, sizeof alone) == 0);
    }
}

static void two_streams_of_any_lengths_are_as_each_alone(void) {
    static uint8_t bytes[1024];
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 13 + (i >> 3));
    }
    for (unsigned first = 0; first < 200; first++) {
        for (unsigned second = 0; second < 200; second++) {
            const uint8_t *const data[] = {bytes + second % 17, bytes + 512 + first % 15};
            const size_t lengths[] = {first, second};
            check_two(data, lengths);
        }
    }
}

static void two_whole_blocks_are_as_each_alone(void) {
    static uint8_t blocks[2][524288];
    for (unsigned i = 0; i < sizeof blocks; i++) {
        blocks[i / 524288][i % 524288] = (uint8_t)(i * 7 + (i >> 9));
    }
    /* The last block of a volume may be shorter. */
    for (size_t last = sizeof blocks[0] - 8192; last <= sizeof blocks[0]; last += 4096) {
        const uint8_t *const data[] = {blocks[0], blocks[1]};
        const size_t lengths[] = {sizeof blocks[0], last};
        check_two(data, lengths);
    }
}

static void only_lower_case_digits_are_read(void) {
    uint8_t digest[SHA256_BYTES];
    char text[SHA256_TEXT + 1];
    memset(text, 'a', sizeof text);
    text[64] = '\0';
    CHECK(sha256_parse(text, digest));
    CHECK_EQ(digest[31], 0xaa);
    text[63] = 'A';
    CHECK(!sha256_parse(text, digest));
    text[63] = '\0';
    CHECK(!sha256_parse(text, digest));
    text[63] = text[64] = 'a';
    text[65] = '\0';
    CHECK(!sha256_parse(text, digest));
}

int main(void) {
    RUN(the_published_examples_are_met);
    RUN(both_ways_agree_at_every_length_and_alignment);
    RUN(two_streams_of_any_lengths_are_as_each_alone);
    RUN(two_whole_blocks_are_as_each_alone);
    RUN(only_lower_case_digits_are_read);
    return CHECK_RESULT();
}
