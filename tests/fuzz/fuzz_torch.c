/* libFuzzer: files of torch.save. Reading one calls nothing, needs limited memory, and gives tensors that are inside of
 * the file. */
#include "fuzz.h"

#include <string.h>

#include "host/inception/torch_file.h"

static volatile unsigned sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(0, data, size);
    dg_torch *t;
    unsigned sum = 0;
    const dg_err e = dg_torch_read(path, &t);
    FUZZ_HOLDS(!e || (e == DG_IO && strstr(dg_message(), path)));
    for (int i = 0; i < dg_torch_count(t) && !e; i++) {
        const dg_st_tensor *x = dg_torch_at(t, i);
        size_t values = 1;
        for (int k = 0; k < x->rank; k++) values *= (size_t)x->dim[k];
        FUZZ_HOLDS(*x->name && x->rank <= 8 && x->bytes == values * sizeof(float));
        for (size_t k = 0; k < x->bytes; k++) sum += ((const uint8_t *)x->data)[k];
    }
    sink = sum;
    dg_torch_free(t);
    return 0;
}
