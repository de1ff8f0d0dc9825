#!/usr/bin/env python3
"""Times the training step with other tiles and splits of its convolutions, one row of a tuning file after another.

    scripts/gpu/rows.py PROGRAM MODEL BATCH PRECISION DEVICE FOLDER NAME SECONDS REPEATS [MOST]

FOLDER/rows-NAME.tune gets the rows that made the step faster, after each of them: `dcgan --tuning` reads this file.
FOLDER/rows-NAME.jsonl gets every row that was timed, and FOLDER/rows-NAME.md the best of them. Rows that the .jsonl has
are not timed again. The longest convolutions by FOLDER/graphs-NAME.json (dcgan profile --in-graph) come first, if this
file exists. Each time is the median of REPEATS measurements. A row is kept if the step takes at most 99% of its time
without the row, and at most 99.5% when both are timed again. Ends after SECONDS, or after MOST rows."""
import json
import pathlib
import re
import subprocess
import sys
import time

TILES = ('64x32', '128x32', '256x32', '128x64', '256x64', '128x128')  # core/tune/conv_tiles.h has those that exist
SPLITS = (1, 2, 4, 8)
OP = re.compile(r'^ *\d+ +(\S+) +(conv_fwd|conv_dx) +(wgmma|mma) +\d+ +(\d+x\d+)(.*?) ([\d+]+) +(rule|\S*:\d+) ')


class Search:
    def __init__(self, program, model, batch, precision, device, folder, name, repeats):
        self.program, self.model = program, model
        self.options = ['--batch', batch, '--precision', precision]
        self.device = ['--device', device]  # `dcgan plan --arch` is quicker than opening the device
        self.repeats = repeats
        self.base = pathlib.Path(folder) / f'rows-{name}'
        self.graphs = pathlib.Path(folder) / f'graphs-{name}.json'
        self.kept, self.done = [], {}
        if self.path('jsonl').exists():
            lines = self.path('jsonl').read_text().splitlines()
            for row in (json.loads(line) for line in lines if line.endswith('}')):
                self.done[row['row']] = row
                self.kept += [row['row']] if row['kept'] else []

    def path(self, ending):
        return self.base.with_suffix('.' + ending)

    def run(self, command, rows, *more):
        """The output of a command with these rows, or None if it failed or a row is not possible."""
        file = self.path('try')
        file.write_text('\n'.join(rows) + '\n')
        done = subprocess.run([self.program, command, self.model, *self.options, '--tuning', str(file), *more],
                              capture_output=True, text=True)
        if done.returncode or 'rows with errors are left out' in done.stderr:
            return None
        return done.stdout

    def convolutions(self):
        """{shape as in a tuning file: (ops, variant, tile, split)} of the fused convolutions, the longest first."""
        found = {}
        plan = self.run('plan', self.kept, *self.device) or ''
        arch = re.search(r', (sm_\d+), ', plan)
        self.arch = ['--arch', arch[1]] if arch else self.device
        for line in plan.split('plan sample')[0].splitlines():
            m = OP.match(line)
            size = {k: list(map(int, v.split('x'))) for k, v in re.findall(r' >?([xyw])=\S+\[([\dx]+)\]', line)}
            if not m or len(size) != 3:
                continue
            (n, h, w, ci), co, kernel = size['x'], size['y'][3], size['w'][1]
            if kernel != 4:
                continue
            shape = f'{m[2]} N={size["y"][0]} H={h} W={w} C={ci}>{co} K=4 S=2 P=1'
            numbers = m[5].split()
            found.setdefault(shape, ([], m[3], m[4], int(numbers[-1]) if numbers else 1))[0].append(m[1])
        us = {}
        if self.graphs.exists():
            launches = json.loads(self.graphs.read_text())['models'][0].get('in_graph', [])
            us = {launch['op']: launch['us'] for launch in launches}
        return dict(sorted(found.items(), key=lambda c: -sum(us.get(op, 0) for op in c[1][0])))

    def ms(self, rows):
        text = self.run('bench', rows, *self.device, '--repeats', self.repeats, '--json', '-q')
        return json.loads(text)['models'][0]['median_ms'] if text else None

    def note(self, row, ms, before, kept):
        self.done[row] = {'row': row, 'ms': ms, 'before_ms': before, 'kept': kept}
        with self.path('jsonl').open('a') as file:
            file.write(json.dumps(self.done[row]) + '\n')
        if kept:
            self.path('tune').write_text('\n'.join(self.kept) + '\n')
        print(f'{row}: {ms:.4g} ms, {before:.4g} ms without{", kept" if kept else ""}', flush=True)

    def attempt(self, row, shape, before):
        """Times a row; the time of a step afterwards."""
        others = [r for r in self.kept if not r.startswith(shape + ' :')]
        ms = self.ms(others + [row])
        if ms is None:
            return before
        kept = ms <= 0.99 * before
        if kept:  # once more, both
            before, ms = self.ms(self.kept), self.ms(others + [row])
            kept = ms <= 0.995 * before
        if kept:
            self.kept = others + [row]
        self.note(row, ms, before, kept)
        return ms if kept else before

    def search(self, seconds, most):
        end, tried = time.monotonic() + seconds, 0
        for shape, (_, variant, tile, split) in self.convolutions().items():
            before = self.ms(self.kept)
            for row in (f'{shape} : {variant} tile={t} split={s}' for t in TILES for s in SPLITS
                        if (t, s) != (tile, split)):
                if time.monotonic() > end or tried >= most:
                    return False
                if row in self.done or not self.run('plan', [row], *self.arch):
                    continue
                before = self.attempt(row, shape, before)
                tried += 1
        return True

    def table(self):
        best = sorted((r for r in self.done.values()), key=lambda r: r['ms'] / r['before_ms'])[:20]
        lines = ['| row | ms per step | without the row | ratio | kept |', '|---|---:|---:|---:|---|']
        lines += [f"| {r['row']} | {r['ms']:.4g} | {r['before_ms']:.4g} | {r['ms'] / r['before_ms']:.3f} | "
                  f"{'yes' if r['kept'] else ''} |" for r in best]
        return '\n'.join(lines) + '\n'


def main():
    if len(sys.argv) not in (10, 11):
        print(__doc__, file=sys.stderr)
        return 2
    program, model, batch, precision, device, folder, name, seconds, repeats = sys.argv[1:10]
    s = Search(program, model, batch, precision, device, folder, name, repeats)
    whole = s.search(float(seconds), int(sys.argv[10]) if len(sys.argv) > 10 else 10**6)
    s.path('try').unlink(missing_ok=True)
    words = f'{len(s.done)} rows timed, {len(s.kept)} kept' + ('' if whole else ', not all that exist')
    s.path('md').write_text(f'## Tuning rows of {name}\n\n{words}.\n\n{s.table()}')
    print(words)
    return 0


if __name__ == '__main__':
    sys.exit(main())
