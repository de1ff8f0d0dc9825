#!/usr/bin/env python3
"""The measurements of one scripts/gpu-check as tables: gpu_table.py FOLDER writes FOLDER/bench.md and ratios.json.

Reads, as far as they are there: ours-W?-PRECISION-ROUND.json (`dcgan bench --json`), torch-W?.json
(tools/pytorch/bench_pytorch.py), numpy.json and cupy.json (tools/bench/bench_numpy.py).
"""
import glob
import json
import os
import re
import sys

TITLES = {'W1': 'W1: dcgan64-paper, batch 64', 'W2': 'W2: dcgan64, batch 128', 'W3': 'W3: dcgan128, batch 64'}
PUBLISHED = {'NumPy': (101.63, 2.21), 'CuPy': (15.69, 0.34), 'CUDA': (9.11, 0.20)}  # on a Quadro RTX 6000
EPOCH = 46  # steps of 64 in 2,944 images


def read(path):
    """The JSON of a file; None if it is not there or was cut off."""
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def table(rows):
    return '\n'.join('| ' + ' | '.join(r) + ' |' for r in [rows[0], ['---'] * len(rows[0]), *rows[1:]])


def our_rows(folder, name):
    """(precision, round, the model's part of the JSON), fastest precision first, rounds in order."""
    rows = []
    for path in glob.glob(os.path.join(folder, f'ours-{name}-*.json')):
        found, data = re.search(r'-([a-z0-9]+)-(\d+)\.json$', path), read(path)
        if found and data:
            rows.append((found[1], int(found[2]), data['models'][0]))
    best = {p: min(m['median_ms'] for q, _, m in rows if q == p) for p, _, _ in rows}
    return sorted(rows, key=lambda r: (best[r[0]], r[0], r[1]))


def precision_of(mode):
    """A PyTorch mode's precision; stock and eager have tf32 on a GPU, PyTorch's default."""
    words = mode.split(',')
    return next((p for p in ('bf16', 'tf32', 'fp32') if p in words), 'tf32')


def workload(folder, name):
    """Markdown and ratios of one workload, or None without our results."""
    ours = our_rows(folder, name)
    if not ours:
        return None
    torch = (read(os.path.join(folder, f'torch-{name}.json')) or {'rows': []})['rows']
    timed = [r for r in torch if 'failed' not in r]
    fastest = min(m['median_ms'] for _, _, m in ours)
    gflop, batch = ours[0][2]['gflop'], ours[0][2]['batch']
    rows = [['program', 'mode', 'median ms per step', 'best ms', 'images/s', 'effective TFLOP/s', 'times our fastest']]

    def add(program, mode, median, best):
        rows.append([program, mode, f'{median:.3f}', f'{best:.3f}', f'{1e3 * batch / median:,.0f}',
                     f'{gflop / median:.2f}', f'{median / fastest:.2f}'])

    for precision, number, m in ours:
        add('dcgan', precision + (', again afterwards' if number > 1 else ''), m['median_ms'], m['best_ms'])
    for r in sorted(timed, key=lambda r: r['median_ms']):
        add('PyTorch ' + r['torch'], r['mode'], r['median_ms'], r['best_ms'])
    failed = [r for r in torch if 'failed' in r]
    rows += [['PyTorch', r['mode'], 'failed: ' + r['failed'].replace('|', '/')] + [''] * 4 for r in failed]
    ratios, words = {}, []
    if timed:
        peer = min(timed, key=lambda r: r['median_ms'])
        ratios['fastest'] = peer['median_ms'] / fastest
        words.append(f"**{ratios['fastest']:.2f} times the speed of PyTorch's fastest mode** ({peer['mode']}).")
        for p in dict.fromkeys(p for p, _, _ in ours):
            theirs = [r['median_ms'] for r in timed if precision_of(r['mode']) == p]
            if theirs:
                ratios[p] = min(theirs) / min(m['median_ms'] for q, _, m in ours if q == p)
                words.append(f'{p} against {p}: {ratios[p]:.2f} times.')
    head = f"{gflop:.2f} GFLOP per step, convolutions counted as direct. {' '.join(words)}"
    return f'## {TITLES[name]}\n\n{head}\n\n{table(rows)}\n', ratios


def published(folder):
    """The table of the published comparison, or None."""
    rows = [['program', 's per epoch of 2,944', 's per batch of 64', 'times the speed of NumPy',
             'published, on a Quadro RTX 6000: s per epoch', 's per batch', 'times']]
    others = (read(os.path.join(folder, name + '.json')) for name in ('numpy', 'cupy'))
    found = [(d['name'], f"{d['name']} {d['version']}", d['median_ms']) for d in others if d]
    if not found:
        return None
    found += [('CUDA', f'dcgan {p}', m['median_ms']) for p, number, m in our_rows(folder, 'W1') if number == 1]
    base = next((ms for kind, _, ms in found if kind == 'NumPy'), None)
    for kind, program, ms in found:
        epoch, batch = PUBLISHED[kind]
        rows.append([program, f'{EPOCH * ms / 1e3:.3f}', f'{ms / 1e3:.5f}', f'{base / ms:.1f}' if base else '',
                     f'{epoch:.2f}', f'{batch:.2f}', f"{PUBLISHED['NumPy'][0] / epoch:.1f}"])
    return f'## NumPy, CuPy and CUDA: the published comparison on this machine\n\n{table(rows)}\n'


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    folder = sys.argv[1]
    parts = {name: workload(folder, name) for name in TITLES}
    texts = [p[0] for p in parts.values() if p] + [t for t in [published(folder)] if t]
    with open(os.path.join(folder, 'bench.md'), 'w') as file:
        file.write('\n'.join(texts))
    with open(os.path.join(folder, 'ratios.json'), 'w') as file:
        json.dump({name: p[1] for name, p in parts.items() if p}, file)
    print('\n'.join(texts))
    return 0


if __name__ == '__main__':
    sys.exit(main())
