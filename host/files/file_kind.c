#include "host/files/safetensors_internal.h"

#include "core/base/file_io.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/shell.h"

enum { BEGIN = 512 };

static const char arrays[] = "an archive of NumPy arrays (npz)", onnx[] = "an ONNX network";
static const char zip[] = "a zip archive, such as torch.save writes";
static const char pickle[] = "a pickle, such as old versions of torch.save write";

static const struct {
    const char *kind;
    size_t at, bytes;
    const char *magic;
} known[] = {
    {"a PNG image", 0, 8, "\x89PNG\r\n\x1a\n"},
    {"a JPEG image", 0, 3, "\xff\xd8\xff"},
    {"a GIF image", 0, 4, "GIF8"},
    {"a WebP image", 8, 4, "WEBP"},
    {"a TIFF image", 0, 4, "II*\0"},
    {"a TIFF image", 0, 4, "MM\0*"},
    {zip, 0, 4, "PK\3\4"},
    {zip, 0, 4, "PK\5\6"},
    {pickle, 0, 2, "\x80\2"},
    {pickle, 0, 2, "\x80\3"},
    {pickle, 0, 2, "\x80\4"},
    {pickle, 0, 2, "\x80\5"},
    {"an HDF5 file, such as Keras writes", 0, 8, "\x89HDF\r\n\x1a\n"},
    {"a NumPy array", 0, 6, "\x93NUMPY"},
    {"a GGUF file", 0, 4, "GGUF"},
    {"compressed by gzip", 0, 3, "\x1f\x8b\x08"},
    {"compressed by xz", 0, 6,
     "\xfd"
     "7zXZ\0"},
    {"compressed by bzip2", 0, 3, "BZh"},
    {"compressed by zstd", 0, 4, "\x28\xb5\x2f\xfd"},
    {"a tar archive", 257, 5, "ustar"},
    {"a PDF document", 0, 5, "%PDF-"},
    {"a program", 0, 4,
     "\x7f"
     "ELF"},
    {"an image cache", 0, 12, "dcgan-cache-"},
    {"a log of a run (log.csv)", 0, 11, "epoch,step,"},
};

static bool is_text(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' && !strchr("\n\r\t", s[i])) return false;
    return n > 0 && !memchr(s, 0, n);
}

static char first_character(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && strchr(" \t\r\n;#", s[i])) {
        if (s[i] == ';' || s[i] == '#')
            while (i < n && s[i] != '\n') i++;
        else i++;
    }
    return (char)(i < n ? s[i] : 0);
}

static const char *kind_inside(const char *s, size_t n)
{
    if (n >= 40 && !memcmp(s, "PK\3\4", 4) && memmem(s + 30, n - 30, ".npy", 4)) return arrays;
    const bool network = n > 8 && s[0] == 8 && s[1] > 0 && s[1] < 32 && (s[2] == 0x12 || s[2] == 0x3a);
    return network ? onnx : NULL;
}

const char *dg_file_kind(const void *begin, size_t bytes)
{
    const char *s = begin, *inside = kind_inside(s, bytes < BEGIN ? bytes : BEGIN);
    if (inside) return inside;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const size_t at = known[i].at;
        if (bytes >= at + known[i].bytes && !memcmp(s + at, known[i].magic, known[i].bytes)) return known[i].kind;
    }
    const size_t n = bytes < BEGIN ? bytes : BEGIN;
    if (!is_text(s, n)) return NULL;
    const char first = first_character(s, n);
    return first == '[' ? "text: an INI file, such as a model or a config.ini" : first == '{' ? "text: JSON" : "text";
}

/* Returns a Python expression (%s: file name) that reads a file of this kind as a dictionary of weight arrays. */
static const char *as_arrays(const char *kind)
{
    if (kind == arrays) return "dict(numpy.load(%s))";
    if (kind == onnx) return "{t.name: onnx.numpy_helper.to_array(t).copy() for t in onnx.load(%s).graph.initializer}";
    return NULL;
}

dg_err dg_file_explain(const char *path, dg_err e)
{
    char begin[BEGIN], name[DG_SHELL_ROOM];
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? dg_read_some(fd, begin, sizeof begin) : -1;
    if (fd >= 0) close(fd);
    if (n <= 8 || (!begin[7] && begin[8] == '{')) return e; /* keep the message of e for a safetensors file */
    const char *kind = dg_file_kind(begin, (size_t)n);
    if (kind == zip || kind == pickle)
        return dg_fail(e,
                       DG_MSG("torch-file",
                              "%s: is %s; in Python, write it as safetensors: "
                              "safetensors.torch.save_file(torch.load(%s, map_location='cpu'), 'netG.safetensors'); "
                              "for a .ckpt of Lightning, use torch.load(...)['state_dict']"),
                       path, kind, dg_python_quote(name, sizeof name, path));
    char all[DG_SHELL_ROOM + 128];
    const char *dictionary = kind ? as_arrays(kind) : NULL;
    if (dictionary) {
        snprintf(all, sizeof all, dictionary, dg_python_quote(name, sizeof name, path));
        return dg_fail(
            e, "%s: is %s; in Python, write it as safetensors: safetensors.numpy.save_file(%s, 'netG.safetensors')",
            path, kind, all);
    }
    if (kind && (strstr(kind, "GGUF") || strstr(kind, "HDF5")))
        return dg_fail(e,
                       DG_MSG("python-file",
                              "%s: is %s, not a safetensors file; load the network in Python and write it: "
                              "safetensors.torch.save_file(net.state_dict(), 'netG.safetensors')"),
                       path, kind);
    return kind ? dg_fail(e, DG_MSG("not-safetensors", "%s: is %s, not a safetensors file"), path, kind) : e;
}
