/* The table of model file keys, and the parser of sections. */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/model_read_internal.h"

typedef enum {
    WHOLE,  /* int: min, min + step ... max */
    SIZE,   /* dg_size: each side min to max; for squares min to square */
    NUMBER, /* double in [min, max) */
    CHOICE,
    NAME,
    TORCH, /* char[96]: one or two module names */
    OP,
    LAYER /* int: number of an earlier section; for key `in` also DG_IN_LATENT or DG_IN_IMAGES */
} value_kind;

typedef struct {
    const char *name;
    value_kind kind;
    size_t offset, bytes;
    double min, max;
    int step;
    double preset; /* default value; -1: none (model_keys), or set by the layer kind (layer_keys) */
    const char *choices, *must;
    int without;
    int square;
} key;

#define MODEL(member) offsetof(dg_model, member), sizeof((dg_model *)0)->member
#define SECTION(member) offsetof(dg_section, member), sizeof((dg_section *)0)->member

/* Joins the words of an X macro list: "none|batch|spectral". */
#define FIRST(word, ...) word
#define WORD(NAME, ...) "|" FIRST(__VA_ARGS__, 0)
#define WORDS(list) &(list(WORD))[1]

static const key model_keys[] = {
    {"name", NAME, MODEL(name), .preset = -1, .must = "1 to 63 letters, digits, dots, dashes or underscores"},
    {"size", SIZE, MODEL(size), 8, 512, 1, .preset = -1, .square = 512,
     .must = "a side from 8 to 512, or WIDTHxHEIGHT such as 64x96"},
    {"channels", WHOLE, MODEL(channels), 1, 4, 1, .without = 2, .preset = 3,
     .must = "1 (grey), 3 (RGB) or 4 (RGB and alpha)"},
    {"latent", WHOLE, MODEL(latent), 1, 4096, 1, .preset = 100},
    {"classes", WHOLE, MODEL(classes), 2, 16384, 1, .preset = 0},
    {"input", CHOICE, MODEL(input), .choices = WORDS(DG_INPUTS)},
    {"epsilon", NUMBER, MODEL(epsilon), 1e-8, 1, 0, 0.001, .must = "a number from 1e-8 up to, not including, 1"},
};
enum { MODEL_KEYS = sizeof model_keys / sizeof *model_keys };

static const key layer_keys[DG_KEYS] = {
    [DG_KEY_OP] = {"op", OP, offsetof(dg_section, layer.kind), sizeof(void *), .preset = -1},
    [DG_KEY_IN] = {"in", LAYER, SECTION(in),
                   .must = "an earlier layer of this network; the first layer also accepts latent or image"},
    [DG_KEY_FILTERS] = {"filters", WHOLE, SECTION(layer.filters), 1, 16384, 1, .preset = -1},
    [DG_KEY_KERNEL] = {"kernel", SIZE, SECTION(layer.kernel), 1, 64, 1, .preset = -1, .square = 16,
                       .must = "a side from 1 to 16, or the WIDTHxHEIGHT of a map, with sides up to 64"},
    [DG_KEY_STRIDE] = {"stride", WHOLE, SECTION(layer.stride), 1, 8, 1, .preset = -1},
    [DG_KEY_PAD] = {"pad", WHOLE, SECTION(layer.pad), 0, 15, 1, .preset = -1},
    [DG_KEY_GROUPS] = {"groups", WHOLE, SECTION(layer.groups), 1, 16384, 1, .preset = 1},
    [DG_KEY_BIAS] = {"bias", CHOICE, SECTION(layer.bias), .preset = -1, .choices = "no|yes"},
    [DG_KEY_NORM] = {"norm", CHOICE, SECTION(layer.norm), .choices = WORDS(DG_NORMS)},
    [DG_KEY_START] = {"start", CHOICE, SECTION(layer.start), .choices = WORDS(DG_LAYER_STARTS)},
    [DG_KEY_GAIN] = {"gain", NUMBER, SECTION(layer.gain), 0.001, 1000, 0, 1,
                     .must = "a number from 0.001 up to, not including, 1000"},
    [DG_KEY_ADD] = {"add", LAYER, SECTION(add), .must = "an earlier layer of this network"},
    [DG_KEY_ACT] = {"act", CHOICE, SECTION(layer.act), .choices = WORDS(DG_ACTS)},
    [DG_KEY_SLOPE] = {"slope", NUMBER, SECTION(layer.slope), 0, 1, 0, 0.2,
                      .must = "a number from 0 up to, not including, 1"},
    [DG_KEY_P] = {"p", NUMBER, SECTION(layer.p), 0, 1, 0, 0.5, .must = "a number from 0 up to, not including, 1"},
    [DG_KEY_SCALE] = {"scale", CHOICE, SECTION(layer.scale), .choices = "2|0.5"},
    [DG_KEY_TORCH] =
        {"torch", TORCH, SECTION(torch),
         .must = "the name of the layer in PyTorch, such as features.0, then a space and the name of its batch norm; "
                 "in a repeated layer, {1+2} becomes 1 in the first copy, 3 in the second, and so on"},
    [DG_KEY_REPEAT] = {"repeat", WHOLE, SECTION(repeat), 1, DG_MAX_LAYERS, 1, .preset = 1},
    [DG_KEY_REPEAT_FROM] = {"repeat_from", LAYER, SECTION(repeat_from),
                            .must = "a layer of this network, either this layer or an earlier one"},
};
typedef struct {
    const char *whose;
    const key *key;
    int n;
} key_table;
static const key_table of_model = {"[model]", model_keys, MODEL_KEYS}, of_layer = {"a layer", layer_keys, DG_KEYS};

/* Keys that a section of defaults, such as [G], cannot set. */
enum { OF_ONE = DG_KEY(IN) | DG_KEY(ADD) | DG_KEY(TORCH) | DG_KEY(REPEAT) | DG_KEY(REPEAT_FROM) };

static int bad(dg_model_text *t, const char *section, const char *name, const char *value, const char *right)
{
    if (t->err == DG_OK) {
        t->err = dg_fail(DG_USAGE, DG_MSG("model-value", "%s:%d: [%s] %s = %s: %s"), t->where, t->line, section, name,
                         value, right);
        t->err_line = t->line;
    }
    return 0;
}

static void list_choices(const char *choices, char *out, size_t room)
{
    const size_t first = strcspn(choices, "|");
    size_t n = 0;
    for (const char *c = choices + first; *c;) {
        const size_t length = strcspn(++c, "|");
        n += (size_t)snprintf(out + n, room - n, "%.*s%s", (int)length, c, c[length] ? ", " : " or ");
        c += length;
    }
    snprintf(out + n, room - n, "%.*s", (int)first, choices);
}

static void list_ops(char *out, size_t room)
{
    size_t n = 0;
    for (const dg_layer_kind *const *k = dg_layer_kinds; *k; k++)
        n += (size_t)snprintf(out + n, n < room ? room - n : 0, "%s%s",
                              k == dg_layer_kinds ? ""
                              : k[1]              ? ", "
                                                  : " or ",
                              (*k)->name);
}

static int not_allowed(dg_model_text *t, const char *section, const key *k, const char *value)
{
    char what[160] = "", right[200];
    if (k->must) snprintf(what, sizeof what, "%s", k->must);
    else if (k->kind == WHOLE) snprintf(what, sizeof what, "a whole number from %g to %g", k->min, k->max);
    else if (k->kind == CHOICE) list_choices(k->choices, what, sizeof what);
    else list_ops(what, sizeof what);
    snprintf(right, sizeof right, "must be %s", what);
    return bad(t, section, k->name, value, right);
}

static bool whole(const char *text, const key *k, int *out)
{
    char *end;
    errno = 0;
    const long v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < (long)k->min || v > (long)k->max || (v - (long)k->min) % k->step ||
        (k->without && v == k->without))
        return false;
    *out = (int)v;
    return true;
}

static bool size(const char *text, const key *k, dg_size *out)
{
    const char *end = dg_size_parse(text, out);
    const int most = dg_is_square(*out) ? k->square : (int)k->max;
    return end && !*end && dg_shorter_side(*out) >= (int)k->min && dg_longer_side(*out) <= most;
}

static bool number(const char *text, const key *k, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= k->min && *out < k->max;
}

static bool choice(const char *text, const key *k, int *out)
{
    const char *c = k->choices;
    for (*out = 0;; ++*out) {
        const size_t length = strcspn(c, "|");
        if (strlen(text) == length && !strncmp(c, text, length)) return true;
        if (!c[length]) return false;
        c += length + 1;
    }
}

static const char of_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

static bool name(const char *text, const key *k, char *out)
{
    const size_t n = strlen(text);
    if (!n || n >= k->bytes || strspn(text, of_names) != n) return false;
    memcpy(out, text, n + 1);
    return true;
}

int dg_copy_number(const char *text, int *first, int *step)
{
    static const char digits[] = "0123456789";
    const size_t a = *text == '{' ? strspn(text + 1, digits) : 0;
    if (a < 1 || a > 3 || text[1 + a] != '+') return 0;
    const size_t b = strspn(text + 2 + a, digits);
    if (b < 1 || b > 3 || text[2 + a + b] != '}') return 0;
    *first = (int)strtol(text + 1, NULL, 10);
    *step = (int)strtol(text + 2 + a, NULL, 10);
    return (int)(a + b + 3);
}

static bool torch(const char *text, const key *k, char *out)
{
    const size_t length = strlen(text);
    int words = 0;
    bool within = false;
    if (length >= k->bytes) return false;
    for (const char *c = text; *c;) {
        int first, step, n = dg_copy_number(c, &first, &step);
        if (!n) n = (int)strspn(c, of_names);
        if (!n && *c != ' ') return false;
        words += n && !within;
        within = n > 0;
        c += n ? n : 1;
    }
    if (words < 1 || words > 2) return false;
    memcpy(out, text, length + 1);
    return true;
}

static bool op(const char *text, const dg_layer_kind **out)
{
    for (const dg_layer_kind *const *k = dg_layer_kinds; *k; k++)
        if (!strcmp(text, (*k)->name)) return *out = *k, true;
    return false;
}

static bool layer(const char *text, const key *k, const char *section, int *out)
{
    char net[8], mine[8];
    int self;
    if (k == &layer_keys[DG_KEY_IN]) {
        if (!strcmp(text, "latent")) return *out = DG_IN_LATENT, true;
        if (!strcmp(text, "image") || !strcmp(text, "pictures")) return *out = DG_IN_IMAGES, true; /* the old name */
    }
    return dg_section_name(text, net, out) && dg_section_name(section, mine, &self) && !strcmp(net, mine) && *out > 0;
}

static bool set(const key *k, const char *section, const char *text, void *object)
{
    void *to = (char *)object + k->offset;
    switch (k->kind) {
    case WHOLE: return whole(text, k, to);
    case SIZE: return size(text, k, to);
    case NUMBER: return number(text, k, to);
    case CHOICE: return choice(text, k, to);
    case NAME: return name(text, k, to);
    case TORCH: return torch(text, k, to);
    case OP: return op(text, to);
    case LAYER: return layer(text, k, section, to);
    }
    return false;
}

static void preset(const key_table *table, void *object)
{
    for (int i = 0; i < table->n; i++) {
        const key *k = &table->key[i];
        void *to = (char *)object + k->offset;
        const int v = (int)k->preset;
        if (k->kind == NUMBER) memcpy(to, &k->preset, sizeof(double));
        else if (k->kind == SIZE) memcpy(to, &(dg_size){v, v}, sizeof(dg_size));
        else if (k->kind == WHOLE || k->kind == CHOICE || k->kind == LAYER) memcpy(to, &v, sizeof v);
    }
}

static int unknown(dg_model_text *t, const key_table *table, const char *section, const char *name, const char *value)
{
    char right[240];
    size_t at = (size_t)snprintf(right, sizeof right, "unknown key; %s has ", table->whose);
    for (int i = 0; i < table->n; i++)
        at += (size_t)snprintf(right + at, sizeof right - at, "%s%s", i ? ", " : "", table->key[i].name);
    return bad(t, section, name, value, right);
}

static int find(const key_table *table, const char *name)
{
    int i = 0;
    while (i < table->n && strcmp(table->key[i].name, name)) i++;
    return i;
}

bool dg_section_name(const char *text, char net[8], int *number)
{
    static const key in_net = {.min = 1, .max = DG_MAX_LAYERS, .step = 1};
    size_t n = 0;
    while (isalpha((unsigned char)text[n])) n++;
    if (n < 1 || n > 4) return false;
    memcpy(net, text, n);
    net[n] = 0;
    *number = 0;
    return !text[n] || (text[n] == '.' && isdigit((unsigned char)text[n + 1]) && whole(text + n + 1, &in_net, number));
}

static dg_section *unknown_section(dg_model_text *t, const char *heading)
{
    if (t->err == DG_OK) {
        t->err = dg_fail(DG_USAGE,
                         "%s:%d: [%s]: unknown section; expected [model], [train], [NET] or [NET.1] ... [NET.%d] (at "
                         "most %d networks with names NET of 1 to 4 letters)",
                         t->where, t->line, heading, DG_MAX_LAYERS, DG_MAX_NETS);
        t->err_line = t->line;
    }
    return NULL;
}

static dg_section *open_section(dg_model_text *t, const char *heading)
{
    char name[8];
    int number, net = 0;
    if (!dg_section_name(heading, name, &number)) return unknown_section(t, heading);
    while (net < t->m->nets && strcmp(t->m->net[net].name, name)) net++;
    if (net == DG_MAX_NETS) return unknown_section(t, heading);
    if (net == t->m->nets) {
        memcpy(t->m->net[net].name, name, sizeof name);
        t->m->nets++;
    }
    dg_section *s = &t->section[net][number];
    if (!s->line) {
        preset(&of_layer, s);
        if (number) snprintf(s->layer.name, sizeof s->layer.name, "%s.%d", name, number);
        else memcpy(s->layer.name, name, sizeof name);
        s->line = s->layer.line = t->line;
    }
    return s;
}

static int on_train(dg_model_text *t, const char *name, const char *value)
{
    dg_model_value *v = &t->m->train[t->m->trains];
    if (t->m->trains == DG_TRAIN_MAX) return bad(t, "train", name, value, "too many keys");
    if (strlen(name) >= sizeof v->key || strlen(value) >= sizeof v->value)
        return bad(t, "train", name, value, "too long");
    for (int i = 0; i < t->m->trains; i++)
        if (!strcmp(t->m->train[i].key, name)) return bad(t, "train", name, value, "duplicate key");
    snprintf(v->key, sizeof v->key, "%s", name);
    snprintf(v->value, sizeof v->value, "%s", value);
    v->line = t->line;
    t->m->trains++;
    return 1;
}

static int on_key(void *context, const char *section, const char *name, const char *value)
{
    dg_model_text *t = context;
    if (t->err != DG_OK) return 0;
    if (!strcmp(section, "model")) {
        const int i = find(&of_model, name);
        if (i == MODEL_KEYS) return unknown(t, &of_model, section, name, value);
        t->given |= 1u << i;
        return set(&model_keys[i], section, value, t->m) || not_allowed(t, section, &model_keys[i], value);
    }
    if (!strcmp(section, "train")) return on_train(t, name, value);
    dg_section *s = open_section(t, section);
    if (!s) return 0;
    const int i = find(&of_layer, name);
    if (i == DG_KEYS) return unknown(t, &of_layer, section, name, value);
    if (s->given & 1u << i) return bad(t, section, name, value, "duplicate key");
    if (!strchr(section, '.') && OF_ONE & 1u << i)
        return bad(t, section, name, value, "not allowed in a section of defaults; move it to the section of a layer");
    s->given |= 1u << i;
    return set(&layer_keys[i], section, value, s) || not_allowed(t, section, &layer_keys[i], value);
}

/* Open the section of a heading line, because inih has no callback for headings without keys. */
static void note_heading(dg_model_text *t, const char *line)
{
    char heading[64];
    line += strspn(line, " \t");
    const size_t n = *line == '[' ? strcspn(line + 1, "]\n") : 0;
    if (!n || line[n + 1] != ']') return;
    snprintf(heading, sizeof heading, "%.*s", (int)n, line + 1);
    if (strcmp(heading, "model") && strcmp(heading, "train")) open_section(t, heading);
}

/* Pass the next line to inih and count it, because inih's callback has no line numbers. */
static char *next_line(char *out, int size, void *context)
{
    dg_model_text *t = context;
    if (!*t->rest) return NULL;
    int n = (int)strcspn(t->rest, "\n");
    if (t->rest[n] == '\n') n++;
    if (n > size - 1) n = size - 1;
    memcpy(out, t->rest, (size_t)n);
    out[n] = 0;
    t->rest += n;
    t->line++;
    note_heading(t, out);
    return out;
}

dg_err dg_model_sections(dg_model_text *t)
{
    preset(&of_model, t->m);
    const int first_bad = ini_parse_stream(next_line, t, on_key, t);
    if (t->err != DG_OK && (first_bad == 0 || first_bad >= t->err_line)) return t->err;
    if (first_bad < 0) return dg_fail(DG_DEVICE, "%s: out of memory", t->where);
    if (first_bad > 0) return dg_fail(DG_USAGE, "%s:%d: neither [section] nor key = value", t->where, first_bad);
    for (int i = 0; i < MODEL_KEYS; i++)
        if (!(t->given & 1u << i) && model_keys[i].preset < 0)
            return dg_fail(DG_USAGE, "%s: [model]: missing key %s", t->where, model_keys[i].name);
    if (t->given & 1u << find(&of_model, "epsilon") && t->m->input != DG_INPUT_ZCA)
        return dg_fail(DG_USAGE, DG_MSG("epsilon-without-zca", "%s: [model] epsilon: needs input = zca"), t->where);
    return DG_OK;
}

void dg_key_names(unsigned keys, char out[160])
{
    size_t n = 0;
    *out = 0;
    for (int i = 0; i < DG_KEYS; i++)
        if (keys & 1u << i) n += (size_t)snprintf(out + n, 160 - n, "%s%s", n ? ", " : "", layer_keys[i].name);
}

void dg_key_inherit(dg_section *s, const dg_section *defaults, unsigned keys)
{
    for (int i = 0; i < DG_KEYS; i++) {
        const key *k = &layer_keys[i];
        if (!(defaults->given & ~s->given & keys & 1u << i)) continue;
        memcpy((char *)s + k->offset, (const char *)defaults + k->offset, k->bytes);
        s->given |= 1u << i;
    }
}
