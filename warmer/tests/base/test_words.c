#include "base/texts.h"
#include "base/words.h"
#include "check.h"

#include <stdlib.h>

static void a_text_becomes_words_at_its_blanks(void) {
    static struct words words = {.items = {"fio"}, .count = 1};
    words_split(&words, "  --rw=read   --bs=4k ");
    words_split(&words, "");
    words_add(&words, "a b");
    CHECK_EQ(words.count, 4);
    CHECK_TEXT(words.items[0], "fio");
    CHECK_TEXT(words.items[1], "--rw=read");
    CHECK_TEXT(words.items[2], "--bs=4k");
    CHECK_TEXT(words.items[3], "a b");
    CHECK(words.items[4] == NULL);
}

static void what_does_not_fit_is_left_out(void) {
    static struct words words;
    static char text[40000];
    memset(text, 'x', sizeof text - 1);
    words_split(&words, text);
    CHECK_EQ(words.count, 0);
    for (size_t i = 1; i < sizeof text - 1; i += 2) {
        text[i] = ' ';
    }
    words_split(&words, text);
    CHECK_EQ(words.count, WORDS_LIMIT);
    CHECK(words.items[WORDS_LIMIT] == NULL);
}

static void a_list_has_each_text_once(void) {
    static struct texts texts;
    texts_add(&texts, "process %d", 7);
    texts_add(&texts, "process %d", 8);
    texts_add(&texts, "process %d", 7);
    CHECK_EQ(texts.count, 2);
    CHECK(texts_has(&texts, "process 8") && !texts_has(&texts, "process 9"));
    for (int i = 0; i < 200; i++) {
        texts_add(&texts, "%d", i);
    }
    CHECK_EQ(texts.count, TEXTS_LIMIT);
}

int main(void) {
    RUN(a_text_becomes_words_at_its_blanks);
    RUN(what_does_not_fit_is_left_out);
    RUN(a_list_has_each_text_once);
    return CHECK_RESULT();
}
