#include "host/inception/pickle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"

typedef struct {
    dg_pickle *p;
    const uint8_t *data;
    size_t bytes, at;
    bool done;
} reader;

enum { ITEMS_MOST = 1 << 20 };

static dg_err no_memory(const reader *r) { return dg_fail(DG_DEVICE, "%s: out of memory", r->p->path); }

__attribute__((format(printf, 2, 3), cold)) static dg_err bad(const reader *r, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return dg_fail(DG_IO, DG_MSG("bad-pickle", "%s: its pickle cannot be read: %s; give the file of a state dict"),
                   r->p->path, text);
}

static dg_err put_int(const reader *r, int **array, int *n, int *room, int value)
{
    int *more = dg_grow(*array, *n, room, sizeof **array);
    if (!more) return no_memory(r);
    *array = more;
    more[(*n)++] = value;
    return DG_OK;
}

static dg_err push(reader *r, int item) { return put_int(r, &r->p->stack, &r->p->depth, &r->p->stack_room, item); }

static dg_err push_new(reader *r, dg_pickle_item x)
{
    dg_pickle *p = r->p;
    if (p->items == ITEMS_MOST) return bad(r, "it has more than %d values", ITEMS_MOST);
    dg_pickle_item *more = dg_grow(p->item, p->items, &p->item_room, sizeof *more);
    if (!more) return no_memory(r);
    p->item = more;
    more[p->items] = x;
    return push(r, p->items++);
}

/* Take n bytes of the file, or return NULL at its end. */
static const uint8_t *take(reader *r, size_t n)
{
    if (n > r->bytes - r->at) return NULL;
    r->at += n;
    return r->data + r->at - n;
}

static int64_t little_endian(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;) v = v << 8 | p[i];
    return (int64_t)v;
}

/* Take an unsigned number of n bytes. Returns -1 at the end of the file. */
static int64_t take_number(reader *r, size_t n)
{
    const uint8_t *p = take(r, n);
    return p ? little_endian(p, n) : -1;
}

static dg_err ended(const reader *r) { return bad(r, "it ends at byte %zu", r->bytes); }

static dg_err push_text(reader *r, dg_pickle_kind kind, size_t length_bytes)
{
    const int64_t n = take_number(r, length_bytes);
    const uint8_t *text = n < 0 || n > INT32_MAX ? NULL : take(r, (size_t)n);
    if (!text) return ended(r);
    return push_new(r, (dg_pickle_item){.kind = kind,
                                        .number = kind == DG_PICKLE_INT && n <= 8 ? little_endian(text, (size_t)n) : 0,
                                        .text = (const char *)text,
                                        .count = (int)n});
}

/* A class or function: two lines, module and name. They are stored as one text with a newline between them. */
static dg_err push_name(reader *r)
{
    const uint8_t *begin = r->data + r->at, *end = begin;
    for (int line = 0; line < 2; line++, end++)
        if (!(end = memchr(end, '\n', (size_t)(r->data + r->bytes - end)))) return ended(r);
    r->at += (size_t)(end - begin);
    if (end - begin > 1000) return bad(r, "a name has %td bytes", end - begin);
    return push_new(r, (dg_pickle_item){.kind = DG_PICKLE_NAME,
                                        .text = (const char *)begin,
                                        .count = (int)(end - begin) - 1});
}

static dg_err push_int(reader *r, size_t bytes)
{
    const uint8_t *p = take(r, bytes);
    if (!p) return ended(r);
    const int64_t v = little_endian(p, bytes);
    return push_new(r, (dg_pickle_item){.kind = DG_PICKLE_INT, .number = bytes == 4 ? (int32_t)v : v});
}

/* Pop n values off the stack. Returns NULL if there are fewer. The values stay readable until the next push. */
static const int *pop(reader *r, int n)
{
    const dg_pickle *p = r->p;
    const int least = p->marks ? p->mark[p->marks - 1] : 0;
    if (p->depth - n < least) return NULL;
    return p->stack + (r->p->depth -= n);
}

static dg_err empty(const reader *r) { return bad(r, "byte %zu: the stack is empty", r->at - 1); }

/* Pop all values after the last mark. Returns their number, or -1. */
static int pop_marked(reader *r)
{
    dg_pickle *p = r->p;
    if (!p->marks) return -1;
    const int n = p->depth - p->mark[--p->marks];
    p->depth -= n;
    return n;
}

/* Copy n popped values to p->child. */
static dg_err put_children(reader *r, int n)
{
    dg_pickle *p = r->p;
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e; i++) e = put_int(r, &p->child, &p->children, &p->child_room, p->stack[p->depth + i]);
    return e;
}

static dg_err push_list(reader *r, dg_pickle_kind kind, int n)
{
    const int first = r->p->children;
    const dg_err e = put_children(r, n);
    return e ? e : push_new(r, (dg_pickle_item){.kind = kind, .first = first, .count = n});
}

static dg_err tuple(reader *r, int n) { return n < 0 || !pop(r, n) ? empty(r) : push_list(r, DG_PICKLE_LIST, n); }

/* Append n popped values to the list on top of the stack. The list is copied, which keeps its items contiguous. */
static dg_err append(reader *r, int n)
{
    dg_pickle *p = r->p;
    if (n < 0 || p->depth < 1 || p->item[p->stack[p->depth - 1]].kind != DG_PICKLE_LIST) return empty(r);
    dg_pickle_item *list = &p->item[p->stack[p->depth - 1]];
    if (list->count) return bad(r, "byte %zu: a list is written in parts", r->at - 1);
    list->first = p->children;
    list->count = n;
    return put_children(r, n);
}

/* Add n popped values, keys and values in turn, to the dict on top of the stack. Only tensors are kept. */
static dg_err set_items(reader *r, int n)
{
    dg_pickle *p = r->p;
    if (n < 0 || n % 2 || p->depth < 1 || p->item[p->stack[p->depth - 1]].kind != DG_PICKLE_DICT) return empty(r);
    for (int i = 0; i < n; i += 2) {
        const dg_pickle_item *key = &p->item[p->stack[p->depth + i]];
        const int value = p->stack[p->depth + i + 1];
        if (key->kind != DG_PICKLE_TEXT || p->item[value].kind != DG_PICKLE_TENSOR) continue;
        dg_pickle_entry *more = dg_grow(p->entry, p->entries, &p->entry_room, sizeof *more);
        if (!more) return no_memory(r);
        p->entry = more;
        more[p->entries++] = (dg_pickle_entry){key->text, (size_t)key->count, value};
    }
    return DG_OK;
}

static dg_err reduce(reader *r)
{
    dg_pickle *p = r->p;
    const int *two = pop(r, 2);
    if (!two) return empty(r);
    const dg_pickle_item *f = &p->item[two[0]], args = p->item[two[1]];
    if (f->kind != DG_PICKLE_NAME || args.kind != DG_PICKLE_LIST) return bad(r, "byte %zu: invalid call", r->at - 1);
    if (dg_pickle_is(f, DG_PICKLE_NAME, "collections\nOrderedDict"))
        return push_new(r, (dg_pickle_item){.kind = DG_PICKLE_DICT});
    if (dg_pickle_is(f, DG_PICKLE_NAME, "torch._utils\n_rebuild_parameter") && args.count > 0)
        return push(r, p->child[args.first]);
    if (dg_pickle_is(f, DG_PICKLE_NAME, "torch._utils\n_rebuild_tensor_v2") ||
        dg_pickle_is(f, DG_PICKLE_NAME, "torch._utils\n_rebuild_tensor"))
        return push_new(r, (dg_pickle_item){.kind = DG_PICKLE_TENSOR, .first = args.first, .count = args.count});
    const char *newline = memchr(f->text, '\n', (size_t)f->count);
    const int module = (int)(newline - f->text);
    return bad(r, "it calls %.*s.%.*s, which dcgan never runs", module, f->text, f->count - module - 1, newline + 1);
}

static dg_err persistent(reader *r)
{
    const int *one = pop(r, 1);
    if (!one || r->p->item[*one].kind != DG_PICKLE_LIST) return empty(r);
    const dg_pickle_item x = r->p->item[*one];
    return push_new(r, (dg_pickle_item){.kind = DG_PICKLE_STORAGE, .first = x.first, .count = x.count});
}

enum { MEMO_MOST = 1 << 22 };

static dg_err remember(reader *r, int64_t at)
{
    dg_pickle *p = r->p;
    if (at < 0) return ended(r);
    if (at >= MEMO_MOST || !p->depth) return bad(r, "byte %zu: invalid memo", r->at - 1);
    while (p->memos <= at) {
        const dg_err e = put_int(r, &p->memo, &p->memos, &p->memo_room, -1);
        if (e) return e;
    }
    p->memo[at] = p->stack[p->depth - 1];
    return DG_OK;
}

static dg_err recall(reader *r, int64_t at)
{
    if (at < 0) return ended(r);
    if (at >= r->p->memos || r->p->memo[at] < 0) return bad(r, "byte %zu: invalid memo", r->at - 1);
    return push(r, r->p->memo[at]);
}

static dg_err step(reader *r)
{
    dg_pickle *p = r->p;
    const int64_t op = take_number(r, 1);
    switch (op) {
    case -1: return ended(r);
    case 0x80: return take(r, 1) ? DG_OK : ended(r); /* protocol */
    case '.': r->done = true; return pop(r, 1) ? DG_OK : empty(r);
    case '(': return put_int(r, &p->mark, &p->marks, &p->mark_room, p->depth);
    case 'N': return push_new(r, (dg_pickle_item){.kind = DG_PICKLE_NONE});
    case 0x88:
    case 0x89: return push_new(r, (dg_pickle_item){.kind = DG_PICKLE_INT, .number = op == 0x88});
    case 'J': return push_int(r, 4);
    case 'K': return push_int(r, 1);
    case 'M': return push_int(r, 2);
    case 0x8a: return push_text(r, DG_PICKLE_INT, 1);
    case 'X':
    case 'T': return push_text(r, DG_PICKLE_TEXT, 4);
    case 'U': return push_text(r, DG_PICKLE_TEXT, 1);
    case 'c': return push_name(r);
    case ']':
    case ')': return push_list(r, DG_PICKLE_LIST, 0);
    case '}': return push_new(r, (dg_pickle_item){.kind = DG_PICKLE_DICT});
    case 't': {
        const int n = pop_marked(r);
        return n < 0 ? empty(r) : push_list(r, DG_PICKLE_LIST, n);
    }
    case 0x85:
    case 0x86:
    case 0x87: return tuple(r, (int)(op - 0x84));
    case 'e': return append(r, pop_marked(r));
    case 'a': return append(r, pop(r, 1) ? 1 : -1);
    case 'u': return set_items(r, pop_marked(r));
    case 's': return set_items(r, pop(r, 2) ? 2 : -1);
    case 'R': return reduce(r);
    case 'Q': return persistent(r);
    case 'b': return pop(r, 1) ? DG_OK : empty(r); /* attributes of an object, such as the versions of its layers */
    case 'q': return remember(r, take_number(r, 1));
    case 'r': return remember(r, take_number(r, 4));
    case 'h': return recall(r, take_number(r, 1));
    case 'j': return recall(r, take_number(r, 4));
    default: return bad(r, "byte %zu: operation 0x%02x", r->at - 1, (unsigned)op);
    }
}

dg_err dg_pickle_read(dg_pickle *p, const uint8_t *data, size_t bytes, size_t *at, int *top)
{
    reader r = {.p = p, .data = data, .bytes = bytes, .at = *at};
    dg_err e = DG_OK;
    p->depth = p->marks = p->memos = 0;
    while (!r.done && !e) e = step(&r);
    *at = r.at;
    *top = e ? -1 : p->stack[p->depth];
    return e;
}

void dg_pickle_free(dg_pickle *p)
{
    free(p->item);
    free(p->child);
    free(p->stack);
    free(p->mark);
    free(p->memo);
    free(p->entry);
}

const dg_pickle_item *dg_pickle_child(const dg_pickle *p, const dg_pickle_item *of, int i)
{
    static const dg_pickle_item none = {.kind = DG_PICKLE_NONE};
    const bool list = of->kind == DG_PICKLE_LIST || of->kind == DG_PICKLE_STORAGE || of->kind == DG_PICKLE_TENSOR;
    return list && i < of->count ? &p->item[p->child[of->first + i]] : &none;
}

bool dg_pickle_is(const dg_pickle_item *x, dg_pickle_kind kind, const char *text)
{
    const size_t n = strlen(text);
    return x->kind == kind && (size_t)x->count == n && !memcmp(x->text, text, n);
}
