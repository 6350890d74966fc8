/** Whole numbers at the beginning of a text, and what is none. */
#include "base/number.h"
#include "check.h"

static void digits_are_taken_and_no_more(void) {
    static const struct {
        const char *text;
        uint64_t most;
        uint64_t number;
        const char *behind;
    } cases[] = {
        {"0", 0, 0, ""},
        {"7;", 9, 7, ";"},
        {"0012 x", 12, 12, " x"},
        {"18446744073709551615", UINT64_MAX, UINT64_MAX, ""},
        {"999999999\n", 999999999, 999999999, "\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t number = 77;
        const char *behind = number_take(cases[i].text, cases[i].most, &number);
        CHECK(behind != NULL && strcmp(behind, cases[i].behind) == 0);
        CHECK(number == cases[i].number);
    }
}

static void signs_blanks_and_larger_numbers_are_refused(void) {
    static const struct {
        const char *text;
        uint64_t most;
    } cases[] = {
        {"", 9},      {"-8", UINT64_MAX},
        {"+8", 9},    {" 8", 9},
        {"\t8", 9},   {"x", 9},
        {"0x10", 16}, {"7", 5},
        {"10", 9},    {"999999999999", 99},
        {"8", 0},     {"18446744073709551616", UINT64_MAX},
        {"\xd9", 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t number = 77;
        const char *behind = number_take(cases[i].text, cases[i].most, &number);
        /* Of 0x10 the digit before the letter is a number. */
        CHECK(strcmp(cases[i].text, "0x10") == 0 ? behind != NULL && *behind == 'x' && number == 0
                                                 : behind == NULL && number == 77);
    }
}

static void a_text_before_it_must_be_there(void) {
    uint64_t number = 0;
    CHECK_TEXT(number_take_after("size:8;", "size:", 9, &number), ";");
    CHECK_EQ(number, 8);
    CHECK(number_take_after("size: 8;", "size:", 9, &number) == NULL);
    CHECK(number_take_after("sizes:8;", "size:", 9, &number) == NULL);
    CHECK(number_take_after("size:", "size:", 9, &number) == NULL);
    CHECK(number_take_after(NULL, "size:", 9, &number) == NULL);
}

int main(void) {
    RUN(digits_are_taken_and_no_more);
    RUN(signs_blanks_and_larger_numbers_are_refused);
    RUN(a_text_before_it_must_be_there);
    return CHECK_RESULT();
}
