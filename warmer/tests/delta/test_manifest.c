/** Manifests: what is read, and why the rest is refused. */
#include "check.h"
#include "delta/manifest.h"

#include <stdio.h>

#define HEAD                                                                                                 \
    "{\"format\": \"rewarm-delta-1\", \"part\": 0, \"volumeId\": \"vol-0123456789abcdef0\", "                \
    "\"snapshotId\": \"snap-0123456789abcdef0\", \"volumeBytes\": 1073741824, \"blockBytes\": 524288}\n"
#define SUM "00000000000000000000000000000000000000000000000000000000000000aa"
#define PACK "{\"pack\": \"https://b/p?a=1&b=2\", \"bytes\": 100, \"blocks\": 3, \"index\": \"" SUM "\"}\n"

static char text[8192];
static struct manifest manifest;
static struct manifest_item item;
static struct diag diag;

/** The body and a last line with the right checksum. */
static size_t part(const char *body, unsigned packs, unsigned blocks, const char *next) {
    uint8_t digest[SHA256_BYTES];
    char sum[SHA256_TEXT];
    sha256(body, strlen(body), digest);
    sha256_print(digest, sum);
    return (size_t)snprintf(
        text, sizeof text,
        "%s{\"end\": true, \"packs\": %u, \"blocks\": %u, \"sha256\": \"%s\", \"next\": %s}\n", body, packs,
        blocks, sum, next);
}

/** The reason why reading the part to its end is refused; empty: it is not. */
static const char *reading(size_t length) {
    static char reason[sizeof diag.text];
    diag = (struct diag){{0}};
    int status = manifest_open(text, length, &manifest, &diag);
    while (status == 0) {
        status = manifest_next(&manifest, &item, &diag);
        if (status == 0 && item.kind == MANIFEST_END) {
            return "";
        }
    }
    CHECK_EQ(status, WARMER_BAD_MANIFEST);
    const char *end = strstr(diag.text, "line ");
    snprintf(reason, sizeof reason, "%s", end == NULL ? diag.text : end);
    return reason;
}

static void every_kind_of_line_is_read(void) {
    size_t length =
        part(HEAD PACK "{\"zeros\": 5, \"count\": 2}\n{\"unchanged\": 7, \"sha256\": \"" SUM "\"}\n", 1, 5,
             "\"https://b/next\"");
    CHECK_EQ(manifest_open(text, length, &manifest, &diag), 0);
    CHECK_TEXT(manifest.head.volume_id, "vol-0123456789abcdef0");
    CHECK_EQ(manifest.head.volume_bytes, 1073741824);
    CHECK_EQ(manifest_next(&manifest, &item, &diag), 0);
    CHECK(item.kind == MANIFEST_PACK && item.blocks == 3 && item.bytes == 100 && item.digest[31] == 0xaa);
    CHECK_TEXT(item.address, "https://b/p?a=1&b=2");
    CHECK_EQ(manifest_next(&manifest, &item, &diag), 0);
    CHECK(item.kind == MANIFEST_ZEROS && item.block == 5 && item.blocks == 2);
    CHECK_EQ(manifest_next(&manifest, &item, &diag), 0);
    CHECK(item.kind == MANIFEST_SAMPLE && item.block == 7);
    CHECK_EQ(manifest_next(&manifest, &item, &diag), 0);
    CHECK(item.kind == MANIFEST_END);
    CHECK_TEXT(item.address, "https://b/next");
}

static void a_line_says_where_what_undoes_it_is_kept(void) {
    size_t length =
        part(HEAD "{\"zeros\": 5, \"count\": 512, \"undo\": \"https://b/undo?a=1\"}\n", 0, 512, "null");
    CHECK_EQ(manifest_open(text, length, &manifest, &diag), 0);
    CHECK_EQ(manifest_next(&manifest, &item, &diag), 0);
    CHECK_TEXT(item.undo, "https://b/undo?a=1");
    length = part(HEAD PACK, 1, 3, "null");
    CHECK_EQ(manifest_open(text, length, &manifest, &diag), 0);
    CHECK_EQ(manifest_next(&manifest, &item, &diag), 0);
    CHECK(item.undo == NULL);
}

static void what_is_damaged_or_cut_off_is_refused_before_any_line(void) {
    size_t length = part(HEAD PACK, 1, 3, "null");
    CHECK_TEXT(reading(length), "");
    length = part(HEAD PACK, 1, 3, "null");
    CHECK_TEXT(reading(length - 1), "line 0: it is cut off");
    length = part(HEAD PACK, 1, 3, "null");
    text[20] ^= 1;
    CHECK_TEXT(reading(length), "line 0: its checksum is wrong");
    length = part(HEAD PACK, 1, 3, "null");
    CHECK_TEXT(reading(sizeof HEAD - 1), "line 0: its last line has no checksum");
    CHECK_TEXT(reading(0), "line 0: it is cut off");
}

static void what_is_wrong_is_refused_with_its_line(void) {
    static const struct {
        const char *body, *reason;
    } cases[] = {
        {"{\"format\": \"other\"}\n", "line 1: it is not of the format rewarm-delta-1"},
        {HEAD "{\"zeros\": 2048, \"count\": 1}\n",
         "line 2: zeros and count do not name blocks of the volume"},
        {HEAD "{\"zeros\": 2047, \"count\": 2}\n",
         "line 2: zeros and count do not name blocks of the volume"},
        {HEAD "{\"zeros\": 1, \"count\": 18446744073709551615}\n",
         "line 2: zeros and count do not name blocks of the volume"},
        {HEAD "{\"unchanged\": 2048, \"sha256\": \"" SUM "\"}\n",
         "line 2: unchanged is not a block of the volume"},
        {HEAD "{\"zeros\": 1, \"count\": 1, \"more\": 1}\n",
         "line 2: it has a member that this version does not know"},
        {HEAD "{\"zeros\": 1, \"zeros\": 1}\n",
         "line 2: it is not a JSON object with texts and whole numbers"},
        {HEAD "{\"other\": 1}\n", "line 2: it is neither pack, zeros, unchanged nor end"},
        {HEAD "{\"zeros\": 1, \"count\": 513, \"undo\": \"https://b/u\"}\n",
         "line 2: a line with undo has more than 512 blocks"},
        {HEAD "{\"zeros\": 1, \"count\": 1, \"undo\": \"-o\"}\n", "line 2: undo is not an address"},
        {HEAD "{\"unchanged\": 1, \"sha256\": \"" SUM "\", \"undo\": \"https://b/u\"}\n",
         "line 2: it has a member that this version does not know"},
        {HEAD "\n", "line 2: it is not a JSON object with texts and whole numbers"},
        {HEAD PACK, "line 3: the last line counts other packs or blocks than there are"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_TEXT(reading(part(cases[i].body, 0, 0, "null")), cases[i].reason);
    }
    CHECK_TEXT(reading(part(HEAD, 0, 0, "\"ftp://b\"")), "line 2: next is neither an address nor null");
}

static void no_address_is_an_option_of_curl(void) {
    CHECK(manifest_address_is_valid("https://bucket.s3.amazonaws.com/a?X-Amz-Signature=0"));
    CHECK(manifest_address_is_valid("file:///tmp/pack"));
    CHECK(!manifest_address_is_valid("https://b/\"\noutput = \"/etc/passwd"));
    CHECK(!manifest_address_is_valid("https://b/\\"));
    CHECK(!manifest_address_is_valid("https://b/a b"));
    CHECK(!manifest_address_is_valid("-o"));
    CHECK(!manifest_address_is_valid("scp://b"));
    CHECK(!manifest_address_is_valid(""));
}

int main(void) {
    RUN(every_kind_of_line_is_read);
    RUN(a_line_says_where_what_undoes_it_is_kept);
    RUN(what_is_damaged_or_cut_off_is_refused_before_any_line);
    RUN(what_is_wrong_is_refused_with_its_line);
    RUN(no_address_is_an_option_of_curl);
    return CHECK_RESULT();
}
