#!/usr/bin/env python3
"""The counts of the cost model (core/tune/cost.h), from steps that ran on the executor of PTX.

    scripts/gpu/counts.py --compare SASS NVDISASM PROGRAM DIR MODEL BATCH PRECISION
    scripts/gpu/counts.py --renew SASS NVDISASM PROGRAM DIR MODEL BATCH PRECISION [DIR MODEL BATCH PRECISION ...]

Called by scripts/ptx-count. SASS is the executor's sass.py, whose table of launches (`tabs`) is used as it is. A DIR
has the counts of one step. PROGRAM profile --predict h200 --json lists the blocks of each kind of that step's launches,
so that kinds are named in one place (kernels/fused/fused_parts.c). The costs of a kind's block, once, per step of its
loop and for the rest, are fitted by least squares of each launch's relative error; no cost is below 0. --renew writes
core/tune/counts.csv and tests/core/tune/counted.h; --compare prints the model's bounds next to the executor's, and
fails if one is more than a tenth off."""
import collections
import contextlib
import io
import json
import pathlib
import runpy
import shutil
import subprocess
import sys

GHZ = 1.755  # sass.py's
L2 = 5.5e12 / (34 * 132 * GHZ * 1e9)  # sass.py's rate of L2, divided by that of core/tune/machine_known.c
COUNTS = ('instructions', 'alu', 'fma', 'xu', 'f64', 'l1', 'products', 'l2')  # as DG_COUNTS has them
KEPT = (('dcgan64-paper', 64), ('dcgan64', 128))  # their launches are those of tests/core/tune/test_cost.c


def launches_of(program, model, batch, precision):
    """The program's description of a step's launches."""
    text = subprocess.run([program, 'profile', model, '--batch', batch, '--precision', precision, '--predict', 'h200',
                           '--json'], check=True, capture_output=True, text=True).stdout
    return json.loads(text)['models'][0]['launches']


ASSEMBLED = {}  # PTX text -> file with ptxas's result, the slowest part


def counted(sass, nvdisasm, folder):
    """A step's launches by sass.py, without those of a run's first step only."""
    modules = {path: path.read_bytes() for path in pathlib.Path(folder).glob('module*.ptx')}
    for path, text in modules.items():
        if text in ASSEMBLED:
            shutil.copy(ASSEMBLED[text], path.with_suffix('.sass'))
    sys.argv = [sass, '--nvdisasm', nvdisasm, '--ghz', str(GHZ), folder, folder + '/stats.csv']
    with contextlib.redirect_stdout(io.StringIO()):
        tabs = runpy.run_path(sass)['tabs']
    for path, text in modules.items():
        if path.with_suffix('.sass').exists():
            ASSEMBLED[text] = path.with_suffix('.sass')
    return [t for t in tabs if 'round_kernel' not in t[0]['kernel']]


class Launch:
    """A launch as described by the program and counted by the executor."""

    def __init__(self, said, tab):
        row, issued, _, us, limit, _, _, moved, busiest, *_ = tab
        self.op, self.parts, self.said = said['op'], said['parts'], said
        self.blocks = int(row['gx']) * int(row['gy']) * int(row['gz'])
        self.threads, self.resident = int(row['threads']), int(row['blocks_per_sm'])
        self.bound = limit[0]
        limits = {k: us[k] for k in ('issue', 'block', 'alu', 'fma+imad', 'xu', 'f64', 'l1', 'mma')}
        limits['l2'] = us['l2'] * L2
        self.limit = max(limits, key=limits.get)
        self.rescaled = limits[self.limit]
        if sum(p['blocks'] for p in self.parts) != self.blocks:
            sys.exit(f'FAIL  {self.op}: {self.blocks} blocks, kernels/fused/fused_parts.c has '
                     f'{sum(p["blocks"] for p in self.parts)}')
        clocks = GHZ * 1e3 * self.blocks / busiest
        self.sums = {'instructions': issued, 'alu': us['alu'] * clocks, 'fma': us['fma+imad'] * clocks,
                     'xu': us['xu'] * clocks, 'f64': us['f64'] * clocks, 'l1': us['l1'] * clocks,
                     'products': int(row['mma_flop']), 'l2': moved}
        self.ratio = issued / max(1, int(row['warp_ins']))  # of SASS to PTX
        self.each = row['blocks']  # PTX instructions of each block

    def by_part(self):
        """Parts with the instructions of their blocks, if the launch has several kinds."""
        at = 0
        for p in self.parts:
            mine = self.each[at:at + int(p['blocks'])]
            at += int(p['blocks'])
            yield p, sum(mine) * self.ratio, max(mine) * self.ratio


def step(sass, nvdisasm, program, folder, model, batch, precision):
    said, tabs = launches_of(program, model, batch, precision), counted(sass, nvdisasm, folder)
    if len(said) != len(tabs):
        sys.exit(f'FAIL  {model}: {len(tabs)} launches counted, the program prints {len(said)}')
    return [Launch(*pair) for pair in zip(said, tabs)]


def least_squares(equations):
    """Solves equations ({unknown: factor}, value, weight) for unknowns >= 0 by coordinate descent; undetermined ones
    stay near their initial values."""
    column = collections.defaultdict(list)
    for i, (factors, value, weight) in enumerate(equations):
        for unknown, factor in factors.items():
            if factor > 0 and value > 0:
                column[unknown].append((i, factor * weight / value))
    # If all launches of a kind have the same number of steps, the fixed part is undetermined: it begins as a fifth.
    found = {u: (0.2, 0.8, 0, 0)[u[1]] * min(equations[i][1] / equations[i][0][u] for i, _ in c)
             for u, c in column.items()}
    left = [-weight if value > 0 else 0 for _, value, weight in equations]
    for unknown, terms in column.items():
        for i, f in terms:
            left[i] += f * found[unknown]
    square = {u: sum(f * f for _, f in c) for u, c in column.items()}
    for _ in range(4000):
        moved = 0
        for unknown, terms in column.items():
            was = found[unknown]
            now = max(0.0, was - sum(f * left[i] for i, f in terms) / square[unknown])
            if now == was:
                continue
            for i, f in terms:
                left[i] += f * (now - was)
            found[unknown] = now
            moved = max(moved, abs(now - was) * square[unknown] ** 0.5)
        if moved < 1e-7:
            break
    return found


def fit(steps):
    """{kind: {count: (block, step, rest)}, 'longest': (fixed, step, rest, merged), 'threads', 'resident'}"""
    table = collections.defaultdict(dict)
    for count in COUNTS + ('longest',):
        equations = []
        for weight, launches in steps:
            for launch in launches:
                for p in launch.parts:
                    table[p['kind']].update(threads=launch.threads, resident=launch.resident)
                if count == 'longest' or (count == 'instructions' and len(launch.parts) > 1):
                    for p, total, most in launch.by_part():
                        k, blocks = p['kind'], p['blocks']
                        equations.append(({(k, 0): 1, (k, 1): p['most'], (k, 2): p['rest'], (k, 3): p['merged']}, most,
                                          weight) if count == 'longest' else
                                         ({(k, 0): blocks, (k, 1): blocks * p['steps'], (k, 2): blocks * p['rest']},
                                          total, weight))
                if count != 'longest':
                    factors = collections.Counter()
                    for p in launch.parts:
                        if count == 'products' and 'mma' not in p['kind']:
                            continue  # the others have no tensor cores
                        for i, f in enumerate((1, p['steps'], p['rest'])):
                            factors[p['kind'], i] += p['blocks'] * f
                    equations.append((factors, launch.sums[count], weight))
        found = least_squares(equations)
        for kind in table:
            table[kind][count] = [found.get((kind, i), 0.0) for i in range(4 if count == 'longest' else 3)]
    return table


def write_counts(table):
    def number(v):
        return '%.4g' % v if v >= 1e-6 else '0'  # below the accuracy of the fit

    with open('core/tune/counts.csv', 'w') as to:
        columns = [f'{part}_{c}' for part in ('block', 'step', 'rest') for c in COUNTS]
        columns += [f'longest_{part}' for part in ('block', 'step', 'rest', 'merged')]
        to.write(','.join(['kind', 'threads', 'resident'] + columns) + '\n')
        for kind, row in sorted(table.items()):
            values = [row[c][i] for i in range(3) for c in COUNTS] + row['longest']
            to.write(','.join([kind, str(row['threads']), str(row['resident']), *map(number, values)]) + '\n')


def write_counted(steps):
    with open('tests/core/tune/counted.h', 'w') as to:
        to.write('/* Lists the launches of training steps in bf16, with bounds in us that the PTX executor computes '
                 'for an H200. Written\n * by `scripts/ptx-count --renew`. */\n/* clang-format off */\n'
                 'static const struct {\n    const char *model;\n    int batch;\n    const char *op;\n'
                 '    double blocks, bound_us;\n} counted[] = {\n')
        for (model, batch), launches in steps:
            to.writelines(f'    {{"{model}", {batch}, "{x.op}", {x.blocks}, {x.bound:.3f}}},\n'
                          for x in launches)
        to.write('};\n')


def compare(launches):
    bad = 0
    print(f'{"op":26} {"bound by":>16} {"bound us":>8} {"model":>8}')
    sums = [0] * 2
    for x in launches:
        if 'us' not in x.said:
            print(f'{x.op:26} {x.limit:>8} {"?":>7} {x.rescaled:8.2f} not counted')
            bad += 1
            continue
        two = x.rescaled, x.said['bound_us']
        sums = [s + v for s, v in zip(sums, two)]
        off = two[1] / two[0] - 1
        bad += abs(off) > 0.1
        print(f'{x.op:26} {x.limit:>8} {x.said["limit"]:>7} {two[0]:8.2f} {two[1]:8.2f} {100 * off:5.1f}%'
              f'{"  like another" if x.said["near"] else ""}')
    print(f'{"all":43} {sums[0]:8.2f} {sums[1]:8.2f}')
    if bad:
        print(f'{bad} of {len(launches)} launches differ by more than 10%')
    return bad


def main():
    what, sass, nvdisasm, program, *rest = sys.argv[1:]
    runs = [tuple(rest[i:i + 4]) for i in range(0, len(rest), 4)]
    steps = [((model, int(batch)), step(sass, nvdisasm, program, folder, model, batch, precision), precision)
             for folder, model, batch, precision in runs]
    if what == '--compare':
        return any(compare(launches) for _, launches, _ in steps)
    kept = [(key, launches) for key, launches, precision in steps if key in KEPT and precision == 'bf16']
    table = fit([(10 if key in KEPT else 1, launches) for key, launches, _ in steps])
    write_counts(table)
    write_counted(kept)
    return 0


if __name__ == '__main__':
    sys.exit(main())
