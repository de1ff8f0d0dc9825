#!/usr/bin/env python3
"""Prints the predictions of the cost model for every network in models/ as a table in Markdown.

    scripts/gpu/predictions.py [PROGRAM]    default: ./dcgan

All predictions are estimates in ms per training step, in bf16 (T4: fp32). The batch size of a network is the one in its
model file, else in BATCH, else 64. MEASURED has the times of commit 688a723 on an H100; the kernels changed since."""
import json
import pathlib
import re
import subprocess
import sys

GPUS = ('h100', 'a100', 'rtx3090', 'rtx4090', 't4')
BATCH = {'dcgan64': 128, 'vgg16-cifar': 128, 'resnet50': 32}
MEASURED = {('dcgan64-paper', 64): '0.747', ('dcgan64', 128): '2.97', ('cnn-mnist', 8): '1.01',
            ('vgg16-cifar', 128): '53.4', ('resnet50', 32): '20.1', ('cnn-caltech', 64): '1,315'}


def batch_of(path):
    found = re.search(r'^batch = (\d+)', path.read_text(), re.M)
    return BATCH.get(path.stem) or int(found.group(1) if found else 64)


def predicted(program, model, batch, gpu):
    """Returns the predicted ms of a training step, and the share of this time that is computed from counts."""
    run = subprocess.run([program, 'profile', model, '--batch', str(batch), '--predict', gpu, '--precision',
                          'fp32' if gpu == 't4' else 'bf16', '--json'], capture_output=True, text=True)
    if run.returncode:
        return None
    r = json.loads(run.stdout)['models'][0]
    counted = sum(x['us'] for x in r['launches'] if 'us' in x and not x['near'])
    return r['predicted_us'] / 1e3, counted / r['predicted_us']


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else './dcgan'
    print('| network | batch | H100 | by counts | A100 | RTX 3090 | RTX 4090 | T4 | H100 measured |')
    print('|---|---:|---:|---:|---:|---:|---:|---:|---:|')
    for path in sorted(pathlib.Path('models').glob('*.cfg')):
        batch = batch_of(path)
        cells, share = [], 0
        for gpu in GPUS:
            p = predicted(program, path.stem, batch, gpu)
            cells.append('-' if not p else f'{p[0]:,.0f}' if p[0] >= 1000 else f'{p[0]:.3g}')
            if gpu == 'h100' and p:
                share = p[1]
        print(f'| {path.stem} | {batch} | {cells[0]} | {100 * share:.0f}% | ' + ' | '.join(cells[1:]) +
              f' | {MEASURED.get((path.stem, batch), "")} |')


if __name__ == '__main__':
    main()
