/* `dcgan info FILE`: prints kind and properties of a dcgan file. */
#include "host/image/image.h"
#include "host/cli/info/info_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "host/checkpoint/checkpoint_layout.h"
#include "host/cli/commands.h"
#include "host/files/json.h"
#include "host/files/onnx.h"
#include "host/files/replace.h"
#include "host/figure/images.h"
#include "core/tune/tune_file.h"

static dg_err info_png(const char *path, cJSON *to)
{
    dg_text *text;
    int texts, W, H;
    dg_err e = dg_png_texts(path, &text, &texts, &W, &H);
    if (e) return e;
    dg_info_text(to, "kind", "image (PNG)");
    dg_info_text(to, "size", "%d x %d", W, H);
    cJSON *list = texts ? cJSON_AddObjectToObject(to, "texts") : NULL;
    for (int i = 0; i < texts; i++) cJSON_AddStringToObject(list, text[i].key, text[i].value);
    free(text);
    return DG_OK;
}

static dg_err info_export(cJSON *to, const char *kind, const char *option)
{
    dg_info_text(to, "kind", "%s", kind);
    dg_info_text(to, "from", "dcgan export --%s; dcgan info prints more about the exported checkpoint", option);
    return DG_OK;
}

/* The struct is the beginning of the header that host/data/dataset_cache.c writes. */
static dg_err info_cache(const char *path, const unsigned char *begin, size_t bytes, cJSON *to)
{
    struct {
        char magic[16];
        uint32_t order, crc;
        uint64_t key, lists, fingerprint;
        int32_t count, size, channels, skips;
        uint64_t files;
        int64_t made, slots;
        int32_t height; /* 0: size */
    } head;
    if (bytes < sizeof head) return dg_fail(DG_IO, DG_MSG("info-cut-cache", "%s: truncated dataset cache"), path);
    memcpy(&head, begin, sizeof head);
    dg_info_text(to, "kind", "dataset cache");
    if (head.order != 0x01020304) {
        dg_info_text(to, "byte order", "not the byte order of this machine");
        return DG_OK;
    }
    dg_info_text(to, "images", "%d of %d x %d, %s", head.count, head.size, head.height ? head.height : head.size,
                 dg_channels_name(head.channels));
    dg_info_text(to, "skipped", "%d", head.skips);
    dg_info_text(to, "fingerprint", "%016llx", (unsigned long long)head.fingerprint);
    return DG_OK;
}

static dg_err info_tuning(const char *path, const char *text, cJSON *to)
{
    dg_tune_file f = {0};
    dg_err e = dg_tune_file_read(&f, path);
    if (!e && f.lines) {
        dg_info_text(to, "kind", "tuning file");
        dg_info_whole(to, "rows", (unsigned)f.lines);
    } else if (!e || (e == DG_USAGE && !strstr(text, "[sm_"))) {
        e = dg_fail(DG_DATA, DG_MSG("info-unknown", "%s: is not a dcgan run or file"), path);
    }
    dg_tune_file_free(&f);
    return e;
}

static dg_err info_text(const char *path, cJSON *to)
{
    void *data;
    size_t bytes;
    dg_err e = dg_read_file(path, 1 << 20, &data, &bytes);
    if (e) return e;
    const char *text = data;
    dg_model *m = malloc(sizeof *m);
    const bool whole = m && !memchr(text, 0, bytes);
    const dg_err parsed = whole && strstr(text, "[model]") ? dg_model_parse(text, path, m) : DG_DATA;
    if (!whole) {
        e = dg_fail(m ? DG_DATA : DG_DEVICE, "%s: %s", path, m ? "is not a dcgan run or file" : "out of memory");
    } else if (parsed == DG_DEVICE) {
        e = parsed;
    } else if (!parsed) {
        dg_info_text(to, "kind", "model");
        dg_info_text(to, "name", "%s", m->name);
        dg_info_text(to, "images", "%d x %d, %s", m->size.W, m->size.H, dg_channels_name(m->channels));
        if (m->net[0].latent) dg_info_whole(to, "latent", (unsigned)m->latent);
    } else if (strstr(text, "epochs =") || strstr(text, "epochs=")) {
        dg_info_text(to, "kind", "configuration of a run");
        char *valid = dg_text_to_utf8(text);
        if (valid) cJSON_AddStringToObject(to, "config", valid);
        else e = dg_fail(DG_DEVICE, "%s: out of memory", path);
        free(valid);
    } else {
        e = info_tuning(path, text, to);
    }
    free(m);
    free(data);
    return e;
}

static dg_err info_file(const char *path, cJSON *to)
{
    unsigned char begin[256] = {0};
    struct stat s;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return dg_fail(DG_IO, DG_MSG("info-cannot-open", "%s: cannot open: %s"), path, strerror(errno));
    ssize_t n = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) ? dg_read_some(fd, begin, sizeof begin - 1) : -1;
    int error = errno;
    close(fd);
    if (S_ISDIR(s.st_mode)) return dg_info_directory(path, to);
    if (n < 0)
        return dg_fail(DG_IO, "%s: %s", path,
                       S_ISREG(s.st_mode) ? strerror(error) : DG_MSG("info-not-regular", "is not a regular file"));
    dg_info_whole(to, "bytes", (unsigned long long)s.st_size);
    if (!memcmp(begin, "\x89PNG\r\n\x1a\n", 8)) return info_png(path, to);
    if (!memcmp(begin, "dcgan-cache-", 12)) return info_cache(path, begin, (size_t)n, to);
    if (dg_onnx_ours(path)) return info_export(to, "network (ONNX)", "onnx");
    if (dg_made_kind(begin, (size_t)n) == DG_MADE_HTML) return info_export(to, "generator (HTML page)", "html");
    if (dg_made_kind(begin, (size_t)n) == DG_MADE_C) return info_export(to, "generator (C source)", "c");
    if (begin[8] == '{' && begin[7] == 0) return dg_info_safetensors(path, to);
    if (!memcmp(begin, "{\"kind\":", 8) || !memcmp(begin, "epoch,step,", 11)) return dg_info_log(path, to);
    if (s.st_size > 1 << 20) return dg_fail(DG_DATA, "%s: is not a dcgan run or file", path);
    return info_text(path, to);
}

static bool print_text(const char *text, int indent)
{
    char *line = strdup(text), *rest = line, *shown = malloc(4 * strlen(text) + 1);
    bool lines = strchr(text, '\n') != NULL;
    for (char *s; line && shown && (s = strsep(&rest, "\n"));) {
        if (lines && (*s || rest)) printf("\n%*s", indent + 4, "");
        printf("%s%s", lines ? "" : " ", dg_printable(shown, 4 * strlen(text) + 1, s));
    }
    printf("\n");
    const bool ok = line && shown;
    free(line);
    free(shown);
    return ok;
}

static bool print_object(const cJSON *o, int indent)
{
    bool ok = true;
    for (const cJSON *f = o->child; f && ok; f = f->next) {
        char key[256];
        dg_printable(key, sizeof key, f->string);
        printf("%*s%s:", indent, "", key);
        if (cJSON_IsObject(f)) {
            printf("\n");
            ok = print_object(f, indent + 4);
        } else if (cJSON_IsString(f)) {
            ok = print_text(f->valuestring, indent);
        } else if (cJSON_IsBool(f)) {
            printf(" %s\n", cJSON_IsTrue(f) ? "yes" : "no");
        } else if (cJSON_IsNumber(f) && isfinite(f->valuedouble)) {
            double v = f->valuedouble;
            printf(v == floor(v) && fabs(v) < 1e15 ? " %.0f\n" : " %.6g\n", v);
        } else {
            printf(" not a number\n");
        }
    }
    return ok;
}

/* Repeat values under the JSON keys that were used before version 0.1.0. */
static void add_old_keys(cJSON *o)
{
    cJSON *texts = cJSON_GetObjectItemCaseSensitive(o, "texts"), *model = cJSON_GetObjectItemCaseSensitive(o, "model");
    const char *images = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "images"));
    if (images) cJSON_AddStringToObject(o, "pictures", images);
    if (texts) dg_json_put(o, "says", cJSON_Duplicate(texts, true));
    if (cJSON_IsObject(model)) add_old_keys(model);
}

static dg_err out_of_memory(const char *path) { return dg_fail(DG_DEVICE, "%s: out of memory", path); }

dg_err dg_info(const char *path, bool json)
{
    const unsigned long refused = dg_json_refused();
    cJSON *o = dg_json_begin();
    char name[4096];
    dg_printable(name, sizeof name, path);
    cJSON_AddStringToObject(o, "file", name);
    dg_err e = info_file(path, o);
    if (json) add_old_keys(o);
    if (dg_json_refused() != refused) e = out_of_memory(path);
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "kind"));
    const bool told = !e || (e != DG_DEVICE && kind && !strcmp(kind, DG_INFO_RUN));
    dg_err printed = DG_OK;
    if (told && json) {
        printed = dg_json_print(stdout, o);
        return printed ? printed : e;
    }
    if (told && !print_object(o, 0)) printed = out_of_memory(path);
    cJSON_Delete(o);
    return printed ? printed : e;
}

int dg_cmd_info(const dg_options *o) { return (int)dg_info(o->operand[0], o->json); }
