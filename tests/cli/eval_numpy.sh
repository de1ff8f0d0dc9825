#!/bin/sh
# The metrics that need no classifier equal those of a short numpy script to 1e-4.
. "$(dirname "$0")/kit"
if ! "$python" -c 'import numpy' 2> /dev/null; then
    skip 'no numpy: no metric was compared'
    finish
fi
mkdir "$dir/real" "$dir/made"
"$python" - "$dir" << 'END'
import sys
import numpy as np
rng = np.random.default_rng(3)
def write(path, n, grain):
    y, x = np.mgrid[:32, :32] / 16
    a = rng.uniform(1, 5, (n, 3, 2, 1, 1))
    p = 128 + 70 * np.sin(a[:, :, 0] * y + a[:, :, 1] * x) + rng.normal(0, grain, (n, 3, 32, 32))
    p = np.clip(p, 0, 255).astype(np.uint8).reshape(n, -1)
    np.concatenate([np.zeros((n, 1), np.uint8), p], 1).tofile(path)
write(sys.argv[1] + '/real/data_batch_1.bin', 150, 8)
write(sys.argv[1] + '/made/data_batch_1.bin', 90, 12)
END
for more in '--seed 1' '--seed 7 -n 61'; do
    # shellcheck disable=SC2086 # words
    exits 0 eval "$dir/made" --data "$dir/real" --model dcgan32 $more --json -q
    cp "$dir/.out" "$dir/result.json"
    "$python" "$root/tests/cli/eval_numpy.py" "$dir/real/data_batch_1.bin" "$dir/made/data_batch_1.bin" \
        "$dir/result.json"
    fact $? "numpy has other metrics ($more)"
done
finish
