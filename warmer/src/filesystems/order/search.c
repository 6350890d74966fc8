/** What every search uses: the list of blocks, inodes some at a time, lists of numbers. */
#include "filesystems/order/search.h"

#include <errno.h>
#include <stdlib.h>

#define LIST_PIECE_BYTES 65536u
#define MOST_FIELDS 5u
/** A list that was not written for a week comes from something that was switched off. */
#define STALE_SECONDS (7 * INT64_C(86400))

int numbers_append(struct numbers *numbers, uint64_t number) {
    if (numbers->length == numbers->capacity) {
        size_t capacity = numbers->capacity == 0 ? 64 : numbers->capacity * 2;
        uint64_t *items = realloc(numbers->items, capacity * sizeof *items);
        if (items == NULL) {
            return -ENOMEM;
        }
        numbers->items = items;
        numbers->capacity = capacity;
    }
    numbers->items[numbers->length++] = number;
    return 0;
}

void numbers_clear(struct numbers *numbers) {
    free(numbers->items);
    *numbers = (struct numbers){0};
}

bool search_is_full(const struct search *search) {
    return search->room == 0 || search->looks == 0;
}

void search_begin_set(struct search *search, enum order_source source, const char *what, int64_t changed) {
    struct order *order = search->order;
    search->set = NULL;
    if (order->length < ORDER_SETS) {
        search->set = &order->sets[order->length++];
        *search->set = (struct order_set){
            .source = source, .what = what, .changed = changed, .age_seconds = ORDER_AGELESS};
    }
}

/** Where there is no memory for it, the block keeps its usual place. */
static void put_off(struct extents *later, uint64_t block) {
    const struct extent *last = later->length > 0 ? &later->items[later->length - 1] : NULL;
    if (last == NULL || block != last->start + last->count - 1) {
        (void)extents_append(later, block, 1);
    }
}

static void add_block(struct search *search, uint64_t block) {
    search->looks--;
    if (!block_set_contains(search->limits->wanted, block) || block_set_contains(search->taken, block)) {
        return;
    }
    if (search->later != NULL) {
        put_off(search->later, block);
        return;
    }
    if (block_set_add(search->taken, block, 1) != 0 ||
        extents_append(&search->order->blocks, block, 1) != 0) {
        search->room = 0;
        return;
    }
    search->room--;
    if (search->set != NULL) {
        search->set->blocks++;
    }
}

void search_add(struct search *search, const struct part *part, const struct tree_runs *runs, uint64_t offset,
                uint64_t bytes) {
    uint64_t end = bytes < UINT64_MAX - offset ? offset + bytes : UINT64_MAX;
    for (size_t i = tree_find_run(runs, offset); i < runs->length && runs->items[i].offset < end; i++) {
        const struct tree_run *run = &runs->items[i];
        uint64_t from = run->offset > offset ? run->offset : offset;
        uint64_t stop = run->offset + run->bytes < end ? run->offset + run->bytes : end;
        uint64_t at = part->source.start + run->at + (from - run->offset);
        uint64_t last = (at + (stop - from) - 1) / BLOCK_BYTES;
        for (uint64_t block = at / BLOCK_BYTES; block <= last && !search_is_full(search); block++) {
            add_block(search, block);
        }
    }
}

void search_add_later(struct search *search, struct extents *later) {
    for (size_t i = 0; i < later->length; i++) {
        const struct extent *run = &later->items[i];
        for (uint64_t at = 0; at < run->count && !search_is_full(search); at++) {
            add_block(search, run->start + at);
        }
    }
    extents_clear(later);
}

static void note_time(struct part *part, const struct tree_inode *inode) {
    /* Of these two times nobody but the clock sets this one. */
    if (inode->is_good && inode->inode_changed > part->newest) {
        part->newest = inode->inode_changed;
    }
}

/** Some inodes with their runs; false once no more are wanted. */
static bool each_of_batch(struct part *part, struct tree_inode *inodes, struct tree_runs *runs, size_t first,
                          size_t count, uint64_t content_bytes, search_visit *visit, void *context) {
    struct extents list = {0};
    bool wants_more = true;
    tree_read_inodes(&part->tree, inodes, count);
    for (size_t i = 0; i < count; i++) {
        note_time(part, &inodes[i]);
        if (inodes[i].is_good) {
            (void)part->tree.ops->map(&part->tree, &inodes[i], &runs[i]);
            tree_expect(&list, &runs[i], content_bytes);
        }
    }
    tree_announce(&part->tree, &list);
    for (size_t i = 0; i < count; i++) {
        if (inodes[i].is_good && wants_more) {
            wants_more = visit(context, first + i, &inodes[i], &runs[i]);
        }
        tree_clear_runs(&runs[i]);
    }
    return wants_more;
}

void search_each(struct part *part, const struct numbers *inodes, uint64_t content_bytes, search_visit *visit,
                 void *context) {
    size_t most = inodes->length < SEARCH_BATCH ? inodes->length : SEARCH_BATCH;
    struct tree_inode *batch = calloc(most > 0 ? most : 1, sizeof *batch);
    struct tree_runs runs[SEARCH_BATCH] = {{0}};
    bool wants_more = batch != NULL;
    for (size_t done = 0; done < inodes->length && wants_more; done += most) {
        size_t count = inodes->length - done < most ? inodes->length - done : most;
        for (size_t i = 0; i < count; i++) {
            batch[i].number = inodes->items[done + i];
        }
        wants_more = each_of_batch(part, batch, runs, done, count, content_bytes, visit, context);
    }
    free(batch);
}

/** Who wants the names of one directory. */
struct reader {
    struct part *part;
    tree_name_hook *take;
    void *context;
};

static bool read_names(void *context, size_t index, const struct tree_inode *inode,
                       const struct tree_runs *runs) {
    const struct reader *reader = context;
    (void)index;
    if (inode->is_directory) {
        tree_names(&reader->part->tree, inode, runs, reader->take, reader->context);
    }
    return true;
}

void search_names(struct part *part, uint64_t directory, tree_name_hook *take, void *context) {
    struct reader reader = {part, take, context};
    struct numbers one = {.items = &directory, .length = 1};
    search_each(part, &one, TREE_DIRECTORY_BYTES, read_names, &reader);
}

/** A line that is being read. */
struct line {
    uint32_t fields[MOST_FIELDS];
    unsigned field;
    unsigned digits;
    unsigned count;
    bool is_head; /**< Within the first line, in <>. */
};

/** Take a character. Returns 1 at the end of a line, 0 within one, or -1 if it has no place here. */
static int take_character(struct line *line, char character) {
    unsigned digit = (unsigned)(unsigned char)character - '0';
    uint32_t *field = &line->fields[line->field];
    if (line->is_head) {
        line->is_head = character != '\n';
        return 0;
    }
    if (digit < 10 && line->digits < 10) {
        uint64_t value = (uint64_t)*field * 10 + digit;
        *field = (uint32_t)value;
        line->digits++;
        return value > UINT32_MAX ? -1 : 0;
    }
    if (line->digits > 0 && character == ',' && line->field + 1 < line->count) {
        line->field++;
        line->digits = 0;
        line->fields[line->field] = 0;
        return 0;
    }
    return line->digits > 0 && character == '\n' && line->field + 1 == line->count ? 1 : -1;
}

/** The lines of some text; false at the end of what can be used. */
static bool take_text(struct line *line, const char *text, size_t length, search_take_line *take,
                      void *context) {
    for (size_t i = 0; i < length; i++) {
        int answer = take_character(line, text[i]);
        if (answer < 0 || (answer > 0 && !take(context, line->fields))) {
            return false;
        }
        if (answer > 0) {
            line->field = line->digits = 0;
            line->fields[0] = 0;
        }
    }
    return true;
}

static void read_list(struct part *part, const struct tree_inode *inode, const struct tree_runs *runs,
                      unsigned count, search_take_line *take, void *context) {
    struct line line = {.count = count};
    uint64_t bytes = inode->bytes < SEARCH_LIST_BYTES ? inode->bytes : SEARCH_LIST_BYTES;
    char *text = malloc(LIST_PIECE_BYTES);
    bool wants_more = text != NULL;
    for (uint64_t offset = 0; offset < bytes && wants_more; offset += LIST_PIECE_BYTES) {
        size_t length = bytes - offset < LIST_PIECE_BYTES ? bytes - offset : LIST_PIECE_BYTES;
        wants_more = tree_read_content(&part->tree, runs, offset, text, length) == 0;
        line.is_head |= wants_more && offset == 0 && text[0] == '<';
        wants_more = wants_more && take_text(&line, text, length, take, context);
    }
    free(text);
}

static bool is_stale(const struct part *part, int64_t changed) {
    return part->newest - changed > STALE_SECONDS;
}

void search_read_list(struct search *search, struct part *part, const char *what,
                      const struct tree_inode *inode, const struct tree_runs *runs, unsigned count,
                      search_take_line *take, void *context) {
    if (!inode->is_file) {
        return;
    }
    search_begin_set(search, ORDER_LISTS, what, inode->content_changed);
    if (!is_stale(part, inode->content_changed)) {
        read_list(part, inode, runs, count, take, context);
    }
}
