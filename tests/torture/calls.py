"""Every call of a command fails once: alone, with all later ones of its kind, cut short, interrupted, after a signal,
or with the process killed there."""
import os
import random
import re
from concurrent.futures import ThreadPoolExecutor

import commands
from place import CODES, difference, environment, faulty, temporaries

INTERRUPTED = ('read', 'write', 'sync', 'close', 'size', 'lock')
UNWANTED = re.compile(r'Sanitizer|runtime error:|Assertion|terminate called|stack smashing|corrupted|free\(\)')


class Command:
    """A command and its results without faults."""

    def __init__(self, command, place):
        self.of = command
        env = faulty('', FAULT_COUNT='count', OMP_NUM_THREADS=command.threads)
        self.before = place.fresh(command.changes).made()
        done = place.run(command.args(), env)
        with open(os.path.join(place.folder, 'count')) as f:
            self.calls = {k: int(n) for k, n in (line.split() for line in f)}
        os.unlink(os.path.join(place.folder, 'count'))
        self.out, self.made = done.out, place.made()
        if done.code != 0 or temporaries(place.folder):
            raise SystemExit(f'torture: undisturbed, dcgan {command.line}: {done}, {temporaries(place.folder)}')

    def begun(self, place):
        run = os.path.join(place.folder, self.of.run)
        return self.of.run and os.path.exists(os.path.join(run, 'config.ini'))


def faults(command, every, first, sanitized):
    """(how, kind, k or k+) of all calls, or of every tenth; every fiftieth allocation, because they are ten times as
    many. Fewer for a slow command."""
    numbers = []
    if every > 1:
        every *= command.of.slow

    def add(how, kind, more=''):
        stride = every * 5 if every > 1 and kind == 'memory' else every
        start = 1 + (first + len(numbers)) % stride
        numbers.extend((how, kind, f'{k}{more}') for k in range(start, command.calls[kind] + 1, stride))

    for more in ('', '+'):
        add('fail', 'memory', more=more)
    if sanitized or not command.of.files:
        if command.of.threads != '1' and not sanitized:
            add('fail', 'thread')
            add('fail', 'thread', more='+')
        return numbers
    for kind in commands.OTHERS:
        for more in ('', '+'):
            add('fail', kind, more=more)
    add('short', 'write')
    add('short', 'read')
    for kind in INTERRUPTED:
        add('interrupt', kind)
    add('signal', 'file')
    add('kill', 'change')
    return numbers


def judge(command, place, fault):
    """Errors after one failure, as text; [] if there are none."""
    how, kind, k = fault
    wrong = []
    place.fresh(command.of.changes)
    env = faulty(f'{how}:{kind}:{k}', OMP_NUM_THREADS=command.of.threads)
    done = place.run(command.of.args(), env)
    killed = how == 'kill' and done.code == -9
    stopped = how == 'signal' and done.code in (130, -2)
    if UNWANTED.search(done.err):
        wrong.append('a report: ' + UNWANTED.search(done.err).group() + ' ' + done.err[-1500:])
    elif not (done.code in CODES or killed or stopped):
        wrong.append(f'{done}')
    elif done.code > 0 and not stopped and not done.err.strip():
        wrong.append(f'exit {done.code} without a message')
    elif kind == 'memory' and done.code not in (0, 5):
        wrong.append(f'not code 5: {done}')
    elif how in ('short', 'interrupt') and kind != 'sync' and done.code != 0:
        wrong.append(f'not taken up: {done}')
    if done.code == 0 and command.of.same and done.out != command.out:
        wrong.append('exit 0, but it prints something else' + (': ' + done.err[-300:] if done.err else ''))
    made = place.made()
    if done.code == 0:
        other = difference(command.made, made)
        if other:
            wrong.append('exit 0, but ' + other + (': ' + done.err[-300:] if done.err else ''))
    if not killed and temporaries(place.folder):
        wrong.append(f'leaves {temporaries(place.folder)}')
    if done.code != 0 and command.of.files and made != command.before:
        wrong += go_on(command, place)
    return wrong


def go_on(command, place):
    """After a failure the command ends as without one."""
    args = command.of.again(command.begun(place))
    done = place.run(args, environment(OMP_NUM_THREADS=command.of.threads))
    if done.code != 0:
        return [f'then dcgan {" ".join(args)}: {done}']
    other = difference(command.made, place.made())
    return [f'then {other}'] if other else []


def torture(place_for, jobs, table, tell, every=1, first=0, sanitized=False, until=None):
    """Every fault of every command, `jobs` at a time; tell(command, how, kind, k, wrong) is called for each. Random
    order until time `until`, if given. Returns the number of faults."""
    with ThreadPoolExecutor(jobs) as pool:
        ready = list(pool.map(lambda c: Command(c, place_for.get()), table))

        def one(work):
            command, fault = work
            if until and until():
                return 0
            wrong = judge(command, place_for.get(), fault)
            tell(command.of.name, *fault, wrong)
            return 1

        work = [(c, f) for i, c in enumerate(ready) for f in faults(c, every, first + i, sanitized)]
        if until:
            random.Random(first).shuffle(work)
        return sum(pool.map(one, work))
