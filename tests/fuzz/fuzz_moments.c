/* libFuzzer: files of moments (.npz), for a network with 3 features. Moments that are read are finite. */
#include "fuzz.h"

#include <math.h>

#include "host/inception/fid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dg_fid_set s;
    const dg_err e = dg_moments_read(fuzz_file(0, data, size), 3, "unknown 1, pytorch-fid", &s);
    FUZZ_HOLDS(!e || e == DG_DATA || e == DG_IO);
    FUZZ_HOLDS(s.images >= 0 && (e || (s.mean && !s.feature)));
    for (int i = 0; i < 12 && !e; i++) FUZZ_HOLDS(isfinite(s.mean[i]));
    dg_fid_set_free(&s);
    return 0;
}
