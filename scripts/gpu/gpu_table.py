#!/usr/bin/env python3
"""The measurements of scripts/gpu-speed as tables: gpu_table.py FOLDER writes FOLDER/bench.md and ratios.json.

Reads, as far as they are there: ours-NAME-PRECISION-ROUND.json (`dcgan bench --json`), and torch-NAME-ROUND.json
(tools/pytorch/bench_pytorch.py).
"""
import glob
import json
import os
import re
import sys

OURS = re.compile(r'ours-(.+)-(bf16|fp16|fp32)-([a-z0-9-]+)\.json$')


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
        found, data = OURS.search(path), read(path)
        if found and found[1] == name and data:
            rows.append((found[2], found[3], data['models'][0]))
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
    files = sorted(glob.glob(os.path.join(folder, f'torch-{name}-[0-9].json')))
    torch = [row for path in files for row in (read(path) or {'rows': []})['rows']]
    timed = [r for r in torch if 'failed' not in r]
    fastest = min(m['median_ms'] for _, _, m in ours)
    gflop, batch = ours[0][2]['gflop'], ours[0][2]['batch']
    rows = [['program', 'mode', 'median ms per step', 'best ms', 'images/s', 'effective TFLOP/s', 'times our fastest']]

    def add(program, mode, median, best):
        rows.append([program, mode, f'{median:.3f}', f'{best:.3f}', f'{1e3 * batch / median:,.0f}',
                     f'{gflop / median:.2f}', f'{median / fastest:.2f}'])

    for precision, number, m in ours:
        add('dcgan', f'{precision}, {number}', m['median_ms'], m['best_ms'])
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
    return f"## {name}: {ours[0][2]['model']}, batch size {batch}\n\n{head}\n\n{table(rows)}\n", ratios


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    folder = sys.argv[1]
    found = (OURS.search(path) for path in glob.glob(os.path.join(folder, 'ours-*.json')))
    parts = {name: workload(folder, name) for name in sorted({f[1] for f in found if f})}
    texts = [p[0] for p in parts.values() if p]
    with open(os.path.join(folder, 'bench.md'), 'w') as file:
        file.write('\n'.join(texts))
    with open(os.path.join(folder, 'ratios.json'), 'w') as file:
        json.dump({name: p[1] for name, p in parts.items() if p}, file)
    print('\n'.join(texts))
    return 0


if __name__ == '__main__':
    sys.exit(main())
