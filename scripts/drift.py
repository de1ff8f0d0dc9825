#!/usr/bin/env python3
"""How fast does fp32 drift away from double, here and in PyTorch? Both run the same steps from the same weights.

    scripts/drift.py --images DIR [--seeds 5] [--steps 50] [--ngf 16] [--batch 16] [--conv auto] [--out FILE.md]

For each seed PyTorch makes two oracles (scripts/make_oracle.py) in float64 and in float32, and `dcgan replay` runs the
same in fp32. The drift of a step is the largest |fp32 - fp64| / |fp64| of the three losses up to that step; the table
shows medians over the seeds. Exit code 1 if ours is more than twice PyTorch's at any of the steps 1, 2, 5, 10, 20, 50.
Below a few rounding errors (1e-6) both count as equal: there, chance decides.
"""
import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile

NAMES = ('loss_d_real', 'loss_d_fake', 'loss_g')
HERE = os.path.dirname(os.path.abspath(__file__))


def losses(path):
    """Per-step losses of an oracle file."""
    with open(path, 'rb') as file:
        n = struct.unpack('<Q', file.read(8))[0]
        header, data = json.loads(file.read(n)), file.read()
    out = {}
    for name in NAMES:
        first, end = header['expect.' + name]['data_offsets']
        out[name] = struct.unpack(f'<{(end - first) // 8}d', data[first:end])
    return out


def drift(a, b):
    """Largest relative difference up to and including each step."""
    worst, out = 0.0, []
    for s in range(len(b[NAMES[0]])):
        worst = max([worst] + [abs(a[n][s] - b[n][s]) / abs(b[n][s]) for n in NAMES])
        out.append(worst)
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--images', required=True)
    for name, default in dict(seeds=5, steps=50, ngf=16, batch=16).items():
        p.add_argument('--' + name, type=int, default=default)
    p.add_argument('--conv', default='auto')
    p.add_argument('--dcgan', default=os.path.join(HERE, '..', 'dcgan'))
    p.add_argument('--out')
    o = p.parse_args()
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, o.seeds + 1):
            files = {}
            for dtype in ('float64', 'float32'):
                files[dtype] = os.path.join(folder, dtype)
                subprocess.run([sys.executable, os.path.join(HERE, 'make_oracle.py'), '--images', o.images, '--out', files[dtype], '--dtype', dtype,
                                '--seed', str(seed), '--ngf', str(o.ngf), '--ndf', str(o.ngf), '--batch', str(o.batch), '--count', str(8 * o.batch - 5),
                                '--steps', str(o.steps), '--small'], check=True, stdout=subprocess.DEVNULL)
            exact = losses(files['float64'])
            done = subprocess.run([o.dcgan, 'replay', files['float64'], '--precision', 'fp32', '--conv', o.conv, '--tol', '1e9', '--json'],
                                  check=True, capture_output=True, text=True)
            run = json.loads(done.stdout)['losses']
            ours.append(drift({n: run[n + '_ours'] for n in NAMES}, exact))
            theirs.append(drift(losses(files['float32']), exact))
    lines = [f'{o.seeds} seeds, ngf {o.ngf}, batch {o.batch}, --conv {o.conv}: median drift of the losses from double, in the same run.', '',
             '| step | dcgan fp32 | PyTorch fp32 | ratio |', '| --- | --- | --- | --- |']
    bad = False
    for s in (s for s in (1, 2, 5, 10, 20, 50) if s <= o.steps):
        a, b = (statistics.median(d[s - 1] for d in side) for side in (ours, theirs))
        ratio = max(a, 1e-6) / max(b, 1e-6)
        bad |= not ratio <= 2
        lines.append(f'| {s} | {a:.2e} | {b:.2e} | {ratio:.2f} |')
    text = '\n'.join(lines)
    print(text)
    if o.out:
        with open(o.out, 'w') as file:
            file.write(text + '\n')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
