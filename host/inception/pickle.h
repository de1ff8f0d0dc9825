/* A reader of the pickles that torch.save writes for a state dict: numbers, strings, tuples, lists, dicts, and calls
 * that rebuild tensors. Every other call is an error, so no code of the file runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

typedef enum {
    DG_PICKLE_NONE,
    DG_PICKLE_INT,
    DG_PICKLE_TEXT,
    DG_PICKLE_NAME, /* of a class or function: "torch FloatStorage" */
    DG_PICKLE_LIST, /* a tuple or list */
    DG_PICKLE_DICT,
    DG_PICKLE_STORAGE, /* a list: "storage", class, key, device, count */
    DG_PICKLE_TENSOR   /* a list: storage, offset, size, stride ... */
} dg_pickle_kind;

typedef struct {
    dg_pickle_kind kind;
    int64_t number;
    const char *text; /* `count` bytes in the file, or NULL */
    int first, count; /* children of a list: item[child[first]] ... */
} dg_pickle_item;

typedef struct {
    const char *text; /* `bytes` bytes */
    size_t bytes;
    int tensor; /* index of the item */
} dg_pickle_entry;

typedef struct {
    const char *path; /* for messages */
    dg_pickle_item *item;
    int *child;
    int *stack, *mark, *memo;
    dg_pickle_entry *entry; /* the tensors of all dicts */
    int items, item_room, children, child_room, depth, stack_room, marks, mark_room, memos, memo_room, entries,
        entry_room;
} dg_pickle;

/* Read one pickle at data[*at], and set *at to the byte after it. Set *top to the index of its value. */
dg_err dg_pickle_read(dg_pickle *p, const uint8_t *data, size_t bytes, size_t *at, int *top);
void dg_pickle_free(dg_pickle *p);

/* Returns child i of a list, or an item of kind DG_PICKLE_NONE if there is none. */
const dg_pickle_item *dg_pickle_child(const dg_pickle *p, const dg_pickle_item *of, int i);
bool dg_pickle_is(const dg_pickle_item *x, dg_pickle_kind kind, const char *text);
