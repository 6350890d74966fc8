#include "base/words.h"

#include <string.h>

void words_add(struct words *words, const char *word) {
    if (words->count < WORDS_LIMIT) {
        words->items[words->count++] = word;
    }
}

void words_split(struct words *words, const char *text) {
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        if (words->used + length >= sizeof words->text) {
            return;
        }
        char *word = words->text + words->used;
        memcpy(word, text, length);
        word[length] = '\0';
        words->used += length + 1;
        words_add(words, word);
        text += length;
    }
}
