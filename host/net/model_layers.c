/* Converts the sections of a model file to layers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/model_read_internal.h"

typedef struct {
    dg_model_text *t;
    dg_net *net;
    dg_section *section;
    int sections;
    int newest[DG_MAX_LAYERS + 1];
    int from, begin; /* first section of a repeated block; index of the layer before the current copy */
    int modules;
} unroller;

#define BAD(s, ...) dg_layer_fail(&(s)->layer, u->t->where, __VA_ARGS__)

/* Apply defaults. Returns DG_USAGE if the layer kind does not accept a key, or a required key is missing. */
static dg_err check_keys(unroller *u, dg_section *s)
{
    const unsigned all = DG_KEY(OP) | DG_KEY(IN) | DG_KEY(REPEAT) | DG_KEY(REPEAT_FROM), own = s->given;
    char list[160];
    dg_key_inherit(s, &u->section[0], DG_KEY(OP));
    if (!s->layer.kind) s->layer.kind = dg_layer_kinds[0];
    const dg_layer_kind *kind = s->layer.kind;
    dg_key_inherit(s, &u->section[0], (kind->takes | all) & ~kind->own);
    if (own & ~kind->takes & ~all) {
        char takes[160];
        dg_key_names(own & ~kind->takes & ~all, list);
        dg_key_names(kind->takes, takes);
        return BAD(s, "%s: not a key of op = %s, which accepts %s", list, kind->name, takes);
    }
    if (kind->needs & ~s->given) {
        dg_key_names(kind->needs & ~s->given, list);
        list[strcspn(list, ",")] = 0;
        return BAD(s, "missing key %s, which op = %s needs", list, kind->name);
    }
    if (s->given & DG_KEY(GAIN) && s->layer.start != DG_LAYER_START_GAIN &&
        (own & DG_KEY(GAIN) || !(own & DG_KEY(START))))
        return BAD(s, DG_MSG("gain-without-start", "gain = %g: needs start = gain"), s->layer.gain);
    return DG_OK;
}

/* Returns the layer of section `number`. In a repeated block, the section before the block gives the layer before the
 * current copy. */
static int earlier(const unroller *u, int number) { return number == u->from - 1 ? u->begin : u->newest[number]; }

static dg_err find_input(unroller *u, int i, int *input)
{
    const dg_section *s = &u->section[i];
    if (s->in < 0 && i > 1)
        return BAD(s, "in = %s: allowed for the first layer only; give an earlier layer",
                   s->in == DG_IN_LATENT ? "latent" : "image");
    if (s->in >= i) return BAD(s, "in = %s.%d: must be an earlier layer of this network", u->net->name, s->in);
    *input = s->in <= 0 ? u->net->layers - 1 : earlier(u, s->in);
    return DG_OK;
}

static dg_err find_addend(unroller *u, int i, int *add)
{
    const dg_section *s = &u->section[i];
    if (s->add >= i) return BAD(s, "add = %s.%d: must be an earlier layer of this network", u->net->name, s->add);
    *add = s->add <= 0 ? -1 : earlier(u, s->add);
    return DG_OK;
}

static dg_err check_addend(unroller *u, const dg_section *s, const dg_layer *l)
{
    if (l->add < 0) return DG_OK;
    const dg_layer *other = &u->net->layer[l->add];
    const dg_shape a = l->out, b = other->out;
    if (a.H == b.H && a.W == b.W && a.C == b.C) return DG_OK;
    return BAD(s, "add: shapes differ: %d x %d x %d of this layer, %d x %d x %d of layer %s", a.W, a.H, a.C, b.W, b.H,
               b.C, other->name);
}

/* Expand a name of key `torch` for one copy of a repeated layer: {4+2} becomes 4 in copy 1 and 6 in copy 2. Returns the
 * text after the name, or NULL if the name is too long. */
static const char *expand(const char *text, int copy, char out[48])
{
    char all[sizeof((dg_section *)0)->torch];
    size_t n = 0;
    text += strspn(text, " ");
    while (*text && *text != ' ') {
        int first, step;
        const int read = dg_copy_number(text, &first, &step);
        if (read) {
            n += (size_t)snprintf(all + n, sizeof all - n, "%d", first + step * (copy ? copy - 1 : 0));
            text += read;
        } else {
            all[n++] = *text++;
        }
    }
    all[n] = 0;
    return snprintf(out, 48, "%s", all) < 48 ? text : NULL;
}

/* Get the default PyTorch name of a batch norm: the module after the convolution (features.0 -> features.1). */
static bool name_norm(const char *conv, char out[48])
{
    size_t n = strlen(conv), digits = 0;
    while (digits < n && conv[n - 1 - digits] >= '0' && conv[n - 1 - digits] <= '9') digits++;
    if (!digits || digits > 6 || (digits < n && conv[n - 1 - digits] != '.')) return false;
    char all[64];
    const int length = snprintf(all, sizeof all, "%.*s%ld", (int)(n - digits), conv,
                                strtol(conv + n - digits, NULL, 10) + 1);
    if (length < 48) memcpy(out, all, (size_t)length + 1);
    return length < 48;
}

static bool is_below(const char *name, const char *module)
{
    const size_t n = strlen(module);
    return !strncmp(name, module, n) && (!name[n] || name[n] == '.');
}

static dg_err name_modules(unroller *u, const dg_section *s, dg_layer *l, int copy)
{
    dg_parameter list[DG_LAYER_PARAMETERS];
    if (!*s->torch) return DG_OK;
    const char *rest = expand(s->torch, copy, l->torch[0]);
    if (rest) rest = expand(rest, copy, l->torch[1]);
    if (!rest) return BAD(s, "torch = %s: a name has at most 47 characters", s->torch);
    if (!l->kind->parameters || !l->kind->parameters(l, list))
        return BAD(s, "torch = %s: the layer has no weights to name", s->torch);
    if (*l->torch[1] && l->norm != DG_NORM_BATCH)
        return BAD(s, "torch = %s: has a second name, but the layer has no batch norm", s->torch);
    if (l->norm == DG_NORM_BATCH && !*l->torch[1] && !name_norm(l->torch[0], l->torch[1]))
        return BAD(s, "torch = %s: missing name of the batch norm of the layer, as in torch = conv1 bn1", s->torch);
    if (l->norm == DG_NORM_BATCH && !strcmp(l->torch[0], l->torch[1]))
        return BAD(s, "torch = %s: both modules have the same name", s->torch);
    for (int k = 0; k < 2; k++)
        if (is_below(l->torch[k], "main") || is_below(l->torch[k], "input"))
            return BAD(s, "torch = %s: main and input are reserved names", s->torch);
    for (int i = 0; i < u->net->layers; i++)
        for (int k = 0; k < 4; k++)
            if (*l->torch[k / 2] && !strcmp(l->torch[k / 2], u->net->layer[i].torch[k % 2]))
                return BAD(s, "torch = %s: %s is used by layer %s already", s->torch, l->torch[k / 2],
                           u->net->layer[i].name);
    return DG_OK;
}

/* Append the layer of section i. `copy` is the number of the copy in a repeated block; 0: the block is not repeated. */
static dg_err append(unroller *u, int i, int copy)
{
    const dg_section *s = &u->section[i];
    dg_net *n = u->net;
    if (n->layers == DG_MAX_LAYERS) return BAD(s, "a network has at most %d layers, including repeats", DG_MAX_LAYERS);
    dg_layer *l = &n->layer[n->layers];
    *l = s->layer;
    dg_err e = find_input(u, i, &l->input);
    if (!e) e = find_addend(u, i, &l->add);
    if (e) return e;
    if (copy) snprintf(l->name, sizeof l->name, "%.8s.%u", s->layer.name, (unsigned)copy & 255u);
    l->in = l->input < 0 ? dg_net_input(u->t->m, n) : n->layer[l->input].out;
    l->flat = l->input >= 0 && n->layer[l->input].flat;
    e = l->kind->shape(l, u->t->where);
    if (!e) e = check_addend(u, s, l);
    if (!e) e = name_modules(u, s, l, copy);
    if (e) return e;
    l->module = u->modules;
    u->modules += l->kind->modules(l);
    u->newest[i] = n->layers++;
    return DG_OK;
}

static dg_err append_block(unroller *u, int from, int to, int times)
{
    dg_err e = DG_OK;
    u->from = from;
    for (int copy = 1; copy <= times && !e; copy++) {
        u->begin = u->net->layers - 1;
        for (int i = from; i <= to && !e; i++) e = append(u, i, times > 1 ? copy : 0);
    }
    return e;
}

static dg_err find_block(unroller *u, int i, int *to)
{
    *to = i;
    for (int k = i; k <= u->sections; k++) {
        const dg_section *s = &u->section[k];
        if (!s->repeat_from) continue;
        if (s->repeat_from > k || s->repeat < 2)
            return BAD(s, "repeat_from = %s.%d: needs repeat = 2 or more, and must name this layer or an earlier layer",
                       u->net->name, s->repeat_from);
        if (s->repeat_from < i)
            return BAD(
                s,
                "repeat_from = %s.%d: this layer is already in a repeated block, and repeated blocks must not overlap",
                u->net->name, s->repeat_from);
        if (s->repeat_from == i) *to = k;
        if (s->repeat_from == i) break;
    }
    for (int k = i; k < *to; k++) {
        const dg_section *s = &u->section[k];
        if (s->repeat > 1)
            return BAD(s,
                       "repeat = %d: this layer is already in a repeated block, and repeated blocks must not overlap",
                       s->repeat);
    }
    return DG_OK;
}

/* Append layer pick to a conditional D, and increase the last layer's filters from 1 to classes + 1. */
static dg_err add_pick(unroller *u)
{
    dg_net *n = u->net;
    dg_layer *last = &n->layer[n->layers - 1];
    const dg_shape s = last->out;
    if (!(last->kind->takes & DG_KEY(FILTERS)) || s.H * s.W * s.C != 1 || last->add >= 0 || last->groups > 1)
        return dg_layer_fail(last, u->t->where,
                             DG_MSG("classes-end-of-d", "is the last layer of D: with [model] classes, it must be a "
                                                        "convolution or a dense layer with one logit"));
    if (n->layers == DG_MAX_LAYERS)
        return dg_layer_fail(last, u->t->where, "a network has at most %d layers, including repeats", DG_MAX_LAYERS);
    last->filters = last->out.C = u->t->m->classes + 1;
    last[1] = (dg_layer){.line = last->line,
                         .kind = &dg_layer_pick,
                         .input = n->layers - 1,
                         .add = -1,
                         .flat = last->flat,
                         .in = last->out,
                         .module = u->modules++};
    snprintf(last[1].name, sizeof last->name, "D.pick");
    n->layers++;
    return last[1].kind->shape(&last[1], u->t->where);
}

/* From MANY classes on, a dense layer before G.1 maps z and the class to latent + EMBEDDING values. Its weights start
 * with a standard deviation for which these values have variance 1. */
enum { MANY = 129, EMBEDDING = 32 };

static dg_err add_embedding(unroller *u)
{
    const dg_model *m = u->t->m;
    dg_layer *l = &u->net->layer[u->net->layers++];
    *l = (dg_layer){.line = u->section[1].line,
                    .kind = &dg_layer_dense,
                    .input = -1,
                    .add = -1,
                    .filters = m->latent + EMBEDDING,
                    .groups = 1,
                    .start = DG_LAYER_START_GAIN,
                    .gain = sqrt((m->latent + m->classes) / (m->latent + 1.0)),
                    .in = dg_net_input(m, u->net)};
    snprintf(l->name, sizeof l->name, "G.embed");
    const dg_err e = l->kind->shape(l, u->t->where);
    u->modules = l->kind->modules(l);
    return e;
}

static dg_err unroll(unroller *u)
{
    dg_err e = DG_OK;
    const int in = u->section[1].in;
    if (in > 0) return BAD(&u->section[1], "in = %s.%d: must be latent or image", u->net->name, in);
    u->net->latent = in == DG_IN_LATENT || (in == DG_IN_BEFORE && !strcmp(u->net->name, "G"));
    for (int i = 1; i <= u->sections && !e; i++) e = check_keys(u, &u->section[i]);
    const int classes = u->t->m->classes;
    if (!e && u->net->latent && classes >= MANY) e = add_embedding(u);
    for (int i = 1, to; i <= u->sections && !e; i = to + 1) {
        e = find_block(u, i, &to);
        if (!e) e = append_block(u, i, to, u->section[to].repeat);
    }
    if (!e && classes && !strcmp(u->net->name, "D")) e = add_pick(u);
    return e;
}

static dg_err layers_of(dg_model_text *t, int net)
{
    unroller u = {.t = t, .net = &t->m->net[net], .section = t->section[net], .from = 0};
    for (int i = 1; i <= DG_MAX_LAYERS; i++)
        if (u.section[i].line) u.sections = i;
    for (int i = 1; i <= u.sections || i == 1; i++)
        if (!u.section[i].line)
            return dg_fail(DG_USAGE,
                           DG_MSG("missing-section",
                                  "%s: section [%s.%d] is missing; layers are numbered from 1 without gaps"),
                           t->where, u.net->name, i);
    return unroll(&u);
}

static bool forks(const dg_net *n)
{
    int readers[DG_MAX_LAYERS + 1] = {0};
    for (int i = 0; i < n->layers; i++) {
        readers[n->layer[i].input + 1]++;
        if (n->layer[i].add >= 0) readers[n->layer[i].add + 1]++;
    }
    int most = 0;
    for (int i = 0; i <= n->layers; i++)
        if (readers[i] > most) most = readers[i];
    return most > 1;
}

/* The key classes of a classifier repeats its number of logits. Later, only conditional GANs have m->classes. */
static dg_err check_classes(dg_model *m)
{
    const dg_layer *last = &m->net[0].layer[m->net[0].layers - 1];
    if (strcmp(m->net[0].name, "C") != 0 || !m->classes) return DG_OK;
    if (m->classes != last->out.C)
        return dg_layer_fail(last, m->where, "has %d logits, but [model] classes = %d", last->out.C, m->classes);
    m->classes = 0;
    return DG_OK;
}

dg_err dg_model_layers(dg_model_text *t)
{
    dg_model *m = t->m;
    if (!m->nets) return dg_fail(DG_USAGE, "%s: no network; add layers as sections [G.1], [G.2] ...", t->where);
    dg_err e = DG_OK;
    for (int net = 0; net < m->nets && !e; net++) {
        e = layers_of(t, net);
        m->net[net].forks = forks(&m->net[net]);
    }
    for (int net = 0, to = 0; net < m->nets && !e; net++) {
        if (!m->net[net].latent) continue;
        const dg_net generator = m->net[net];
        memmove(&m->net[to + 1], &m->net[to], (size_t)(net - to) * sizeof generator);
        m->net[to++] = generator;
    }
    return e ? e : check_classes(m);
}
