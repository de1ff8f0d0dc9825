#!/usr/bin/env python3
"""How fast does fp32 drift away from double, here and in PyTorch? Both run the same steps from the same weights.

    tools/pytorch/drift.py --images DIR [--model models/dcgan32.cfg] [--seeds 32] [--steps 50] [--batch 16]
                     [--conv auto] [--keep DIR] [--device cpu] [--torch-device cpu|cuda] [--precision fp32]
                     [--out FILE.md]

For each seed PyTorch makes two oracles (make_oracle.py), in float64 and in float32, and `dcgan replay` runs the
same steps in fp32. The drift of a step is the largest |fp32 - fp64| / |fp64| of the three losses up to that step.
With --device cuda both are on the GPU, unless --torch-device says otherwise; --precision bf16 and fp16 compare
with PyTorch's autocast, in fp16 with a GradScaler.

A weight's gradient may by chance be so close to zero that a rounding error reverses its first Adam step, or an
activation may change its side of ReLU; single runs differ by factors of hundreds.
So the table has geometric means over many seeds, and the ratio of each with its standard error (as a factor, from the
spread of the ratios of single seeds). Exit code 1 if our mean is more than twice PyTorch's at any of the steps 1, 2,
5, 10, 20, 50. Drifts below 1e-6 count as 1e-6: there it is the rounding of the loss itself.

--keep DIR stores the oracles and finds them again: other builds and --conv can then be compared in seconds.
"""
import argparse
import contextlib
import io
import json
import math
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
    worst, out = 1e-6, []
    for s in range(len(b[NAMES[0]])):
        worst = max([worst] + [abs(a[n][s] - b[n][s]) / abs(b[n][s]) for n in NAMES])
        out.append(worst)
    return out


def make_oracle(o, folder, dtype, seed):
    """The file of this oracle, made if it is not there yet."""
    device = o.torch_device or ('cuda' if o.device.startswith('cuda') else 'cpu')
    arithmetic = o.precision if dtype == 'float32' and o.precision != 'fp32' else 'plain'
    how = '' if (device, arithmetic) == ('cpu', 'plain') else f'-{device}-{arithmetic}'
    name = os.path.splitext(os.path.basename(o.model))[0]
    shape = f'{name}-batch{o.batch}-steps{o.steps}'
    path = os.path.join(folder, f'{dtype}{how}-{shape}-seed{seed}.safetensors')
    if not os.path.exists(path):
        import make_oracle as maker  # needs torch; oracles that are there do not
        with contextlib.redirect_stdout(io.StringIO()):
            maker.main(['--images', o.images, '--out', path + '.part', '--dtype', dtype, '--seed', str(seed), '--small',
                        '--model', o.model, '--batch', str(o.batch), '--count', str(8 * o.batch - 5),
                        '--steps', str(o.steps), '--device', device, '--arithmetic', arithmetic])
        os.replace(path + '.part', path)
    return path


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--images', required=True)
    p.add_argument('--model', default=os.path.join(HERE, '..', '..', 'models', 'dcgan32.cfg'))
    for name, default in dict(seeds=32, steps=50, batch=16).items():
        p.add_argument('--' + name, type=int, default=default)
    p.add_argument('--conv', default='auto')
    p.add_argument('--dcgan', default=os.path.join(HERE, '..', '..', 'dcgan'))
    p.add_argument('--keep')
    p.add_argument('--device', default='cpu')
    p.add_argument('--torch-device', choices=['cpu', 'cuda'])
    p.add_argument('--precision', default='fp32', choices=['fp32', 'bf16', 'fp16'])
    p.add_argument('--out')
    o = p.parse_args()
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = o.keep or temporary
        os.makedirs(folder, exist_ok=True)
        for seed in range(1, o.seeds + 1):
            exact_file = make_oracle(o, folder, 'float64', seed)
            exact = losses(exact_file)
            theirs.append(drift(losses(make_oracle(o, folder, 'float32', seed)), exact))
            command = [o.dcgan, 'replay', exact_file, '--device', o.device, '--precision', o.precision,
                       '--conv', o.conv]
            done = subprocess.run([*command, '--tol', '1e9', '--json'], check=True, stdout=subprocess.PIPE, text=True)
            run = json.loads(done.stdout)['losses']
            ours.append(drift({n: run[n + '_ours'] for n in NAMES}, exact))
    lines = [f'{o.seeds} seeds, {os.path.basename(o.model)}, batch {o.batch}, --conv {o.conv}, {o.device}: drift '
             'of the losses from double, geometric means, in the same run.', '',
             f'| step | dcgan {o.precision} | PyTorch {o.precision} | ratio | standard error |',
             '| --- | --- | --- | --- | --- |']
    bad = False
    for s in (s for s in (1, 2, 5, 10, 20, 50) if s <= o.steps):
        a, b = ([math.log(d[s - 1]) for d in side] for side in (ours, theirs))
        difference = [x - y for x, y in zip(a, b)]
        ratio = math.exp(statistics.fmean(difference))
        error = statistics.stdev(difference) / math.sqrt(len(difference)) if len(difference) > 1 else math.inf
        bad |= not ratio <= 2
        lines.append(f'| {s} | {math.exp(statistics.fmean(a)):.2e} | {math.exp(statistics.fmean(b)):.2e} | {ratio:.2f} '
                     f'| x or / {math.exp(error):.2f} |')
    text = '\n'.join(lines)
    print(text)
    if o.out:
        with open(o.out, 'w') as file:
            file.write(text + '\n')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
