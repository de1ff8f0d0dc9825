#!/usr/bin/env python3
"""Everything that can go wrong under the program goes wrong once: `make torture`.

    tests/torture/torture.py [calls] [limits] [power] [kills] [--every N] [--kills N] [--minutes M] [--seed S] ...

calls   Each call of each command (commands.py) that can fail fails once: alone, with all later ones, cut short,
        interrupted, after a signal, or with the process killed there. With sanitizers only allocations.
limits  Small disks, limits of memory, files and file size.
power   A power failure at every call of a run.
kills   KILLS of a run at random times, repeatedly, until it ends.

Afterwards: an exit code of docs/reference.md and a message, no temporary files, and a resumed run ends like others.
Intended exceptions are in meant.txt. Default: all but kills. DCGAN is the program, PRELOADS the folder of faults.so and
record.so. The last line is "N passed, N failed, N skipped"."""
import argparse
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import calls  # noqa: E402
import commands  # noqa: E402
import kills  # noqa: E402
import limits  # noqa: E402
import place  # noqa: E402
import power  # noqa: E402


def sanitized():
    with open(place.PROGRAM, 'rb') as f:
        return b'__asan_init' in f.read()


class Findings:
    """Errors that are not intended (meant.txt)."""

    def __init__(self):
        self.lock, self.found = threading.Lock(), []
        with open(os.path.join(place.ROOT, 'tests/torture/meant.txt')) as f:
            lines = [line.rstrip('\n') for line in f if line.strip() and not line.startswith(('#', ' '))]
        self.meant = [tuple(re.compile(p, re.S) for p in lines[i:i + 3]) for i in range(0, len(lines), 3)]

    def is_meant(self, command, fault, words):
        return any(m[0].fullmatch(command) and m[1].fullmatch(fault) and m[2].fullmatch(words.strip())
                   for m in self.meant)

    def call(self, command, how, kind, k, wrong):
        for words in wrong:
            self.tell(command, f'{how}:{kind}', words, f'{how}:{kind}:{k}')

    def tell(self, what, fault, words, shown=''):
        with self.lock:
            if not self.is_meant(what, fault, words):
                self.found.append((what, fault, words))
                print(f'FAIL  {what}: {shown or fault}: {words}', flush=True)


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('parts', nargs='*', choices=['calls', 'limits', 'power', 'kills', []])
    p.add_argument('--every', type=int, default=1,
                   help='test every N-th call, size and state (allocations: every 5N-th)')
    p.add_argument('--seed', type=int, default=0, help='chooses the first call and the times of kills')
    p.add_argument('--only', default='', help='only these commands, separated by commas')
    p.add_argument('--kills', type=int, default=100)
    p.add_argument('--minutes', type=float, default=0, help='time limit of calls and kills')
    p.add_argument('--jobs', type=int, default=2)
    o = p.parse_args()
    o.sanitized = sanitized()
    o.parts = o.parts or (['calls'] if o.sanitized else ['calls', 'limits', 'power'])
    return o


def work(o, places, f):
    """{part: number of runs}"""
    result, end = {}, time.time() + 60 * o.minutes if o.minutes else None

    def over():
        return end is not None and time.time() > end
    if 'calls' in o.parts:
        chosen = [c for c in commands.COMMANDS if not o.only or c.name in o.only.split(',')]
        result['calls'] = calls.torture(places, o.jobs, chosen, f.call, o.every, o.seed, o.sanitized,
                                        over if end else None)
    if 'limits' in o.parts:
        result['limits'] = limits.torture(places, o.jobs, lambda what, words: f.tell(what, 'limit', words), o.every,
                                          o.seed)
    if 'power' in o.parts:
        result['power'] = power.fail(places, o.jobs, lambda what, words: f.tell(what, 'power', words), o.every)
    if 'kills' in o.parts:
        result['kills'] = kills.kill(places, o.jobs, o.kills, o.seed, lambda kind, words: f.tell(kind, 'kill', words),
                                     over)
    return result


def main():
    o = options()
    if 'limits' in o.parts and not os.environ.get('TORTURE_MOUNTS') and limits.may_mount():
        os.environ['TORTURE_MOUNTS'] = 'yes'
        os.execvp('unshare', ['unshare', '-m', sys.executable] + sys.argv)
    if not os.path.exists(os.path.join(place.PRELOADS, 'faults.so')):
        raise SystemExit(f'torture: there is no {place.PRELOADS}/faults.so: make tests')
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None  # where fsync costs nothing
    base, f = tempfile.mkdtemp(dir=memory, prefix='dcgan-torture-'), Findings()
    try:
        places = place.Places(base, place.Inputs(os.path.join(base, 'inputs')))
        result = work(o, places, f)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print(', '.join(f'{n} {part}' for part, n in result.items()))
    skipped = 'limits' in o.parts and not os.environ.get('TORTURE_MOUNTS')
    if skipped:
        print('skip  small disks: a tmpfs cannot be mounted here')
    print(f'{sum(result.values())} passed, {len(f.found)} failed, {int(skipped)} skipped')
    return 1 if f.found else 0


if __name__ == '__main__':
    sys.exit(main())
