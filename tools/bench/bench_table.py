#!/usr/bin/env python3
"""Turn the raw numbers of one tools/bench/bench-cpu run into its table: bench_table.py RAW_FOLDER [OUT.md]."""
import datetime
import json
import os
import subprocess
import sys


def read(folder, name):
    with open(os.path.join(folder, name + '.json')) as file:
        return json.load(file)


def git(*args):
    done = subprocess.run(['git', *args], capture_output=True, text=True)
    return done.stdout.strip()


def table(rows):
    return '\n'.join(['| ' + ' | '.join(r) + ' |' for r in [rows[0], ['---'] * len(rows[0]), *rows[1:]]])


def workload(folder, name, title):
    """The rows of one workload: ours, every PyTorch mode, NumPy; and our per-op table."""
    runs = [read(folder, f'ours-{name}-{i}') for i in (1, 2)]
    models = [r['models'][0] for r in runs]
    ours = min(models, key=lambda m: m['median_ms'])
    run = runs[models.index(ours)]
    peak = max(r['fma_peak_gflops']['all_threads'] for r in runs)
    torch = [r for r in read(folder, f'torch-{name}')['rows'] if 'failed' not in r]
    numpy = read(folder, f'numpy-{name}')
    fp32 = min((r for r in torch if 'bf16' not in r['mode']), key=lambda r: r['median_ms'])
    rows = [['program', 'mode', 'median ms per step', 'best ms', 'times ours', 'effective GFLOP/s', '% of FMA peak']]

    def row(program, mode, median, best):
        rate = ours['gflop'] / median * 1e3
        rows.append([program, mode, f'{median:.1f}', f'{best:.1f}', f"{median / ours['median_ms']:.2f}", f'{rate:.0f}',
                     f'{100 * rate / peak:.0f}'])

    for m in models:
        row('dcgan', 'fp32' + (', again after PyTorch' if m is models[1] else ''), m['median_ms'], m['best_ms'])
    for r in torch:
        row('PyTorch ' + r['torch'], r['mode'] + (' (fastest fp32)' if r is fp32 else ''), r['median_ms'], r['best_ms'])
    row(f"NumPy {numpy['version']}", f"{numpy['dtype']} im2col", numpy['median_ms'], numpy['best_ms'])
    ratio = fp32['median_ms'] / ours['median_ms']
    ops = [['op', 'variant', 'median ms', 'GFLOP', 'effective GFLOP/s', '% of FMA peak', 'GB/s']]
    for o in ours['ops']:
        ops.append([o['name'], o['variant'] or '', f"{o['median_ms']:.3f}", f"{o['gflop']:.3f}",
                    f"{o['gflops']:.0f}", f"{o['percent_of_peak']:.0f}", f"{o['gb_per_s']:.1f}"])
    text = f"""## {title}

{ours['gflop']:.2f} GFLOP per step, convolutions counted as direct. The FMA peak measured in the same run: \
{peak:.0f} GFLOP/s on
{run['threads']} threads, so direct arithmetic at that peak would need {1e3 * ours['gflop'] / peak:.0f} ms.
**{ratio:.2f} times the speed of the fastest fp32 mode of PyTorch.**

{table(rows)}

<details><summary>Every op</summary>

{table(ops)}

</details>
"""
    return text, {'workload': name, 'ours': runs, 'pytorch': torch, 'numpy': numpy,
                  'ratio_to_fastest_fp32_pytorch': ratio}


def main():
    folder, out = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    machine = read(folder, 'ours-W1-1')
    parts = [workload(folder, 'W1', 'W1: dcgan64-paper, batch 64'), workload(folder, 'W2', 'W2: dcgan64, batch 128')]
    head = f"""# CPU: dcgan compared with PyTorch and NumPy

{datetime.date.today()}, commit {git('rev-parse', '--short', 'HEAD')}, {machine['machine']}, {machine['backend']}. \
By `tools/bench/bench-cpu`:
all rows in one run, consecutively; medians; the ratio compares the better median of our two rounds with \
PyTorch's fastest fp32 median.
"""
    text = '\n'.join([head, *[p[0] for p in parts]])
    print(text)
    if out:
        with open(out, 'w') as file:
            file.write(text)
        with open(os.path.splitext(out)[0] + '.json', 'w') as file:
            json.dump([p[1] for p in parts], file, indent=1)
    return 0


if __name__ == '__main__':
    sys.exit(main())
