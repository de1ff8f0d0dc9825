"""Kills at every phase of a run: however often it is killed, it ends in the weights, the log and the files of a run
without kills. No file is torn, nothing saved is lost, and the run can always be continued."""
import json
import os
import random
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from place import PROGRAM, difference, environment, faulty, left

RUNS = {
    'GAN': '--data cats --model tiny.cfg --batch 4 --seed 3 --loss ralsgan --augment color,cutout --ema 0.995 --flip',
    'classifier': '--data shapes --test 0.25 --model dropout.cfg --batch 4 --seed 1',
}
EACH = '--checkpoint-every 1'  # the default depends on time
EPOCHS, BACK_TO, A_LIFE = 5, 3, 8  # epochs; the epoch of the rewind; kills before a run may end


def step_of(path):
    """Step of a whole checkpoint, by its header and length; 0: none; None: torn."""
    try:
        with open(path, 'rb') as f:
            length = int.from_bytes(f.read(8), 'little')
            header = json.loads(f.read(length))
    except FileNotFoundError:
        return 0
    except ValueError:
        return None
    ends = max(t['data_offsets'][1] for name, t in header.items() if name != '__metadata__')
    return int(header['__metadata__']['step']) if os.path.getsize(path) == 8 + length + ends else None


class Kind:
    """A run without kills."""

    def __init__(self, name, place):
        self.name = name
        self.args = RUNS[name].split() + f'--epochs {EPOCHS} --sample-every 2 {EACH} --keep 3 -q --out new'.split()
        place.fresh()
        done = place.run(self.args, faulty('', FAULT_COUNT='count'))
        if done.code != 0:
            raise SystemExit(f'torture: undisturbed, {self.args}: {done}')
        with open(os.path.join(place.folder, 'count')) as f:
            self.calls = dict(line.split() for line in f)
        self.calls = int(self.calls['change'])
        self.whole = place.folder + '-' + name
        shutil.copytree(os.path.join(place.folder, 'new'), self.whole)
        self.expected = left(self.whole)


class Life:
    """One run from its start to its end, with kills on the way."""

    def __init__(self, kind, place, seed, tell):
        self.kind, self.place, self.tell = kind, place, tell
        self.random = random.Random(seed)
        self.seed, self.kills, self.safe = seed, 0, 0
        self.run = os.path.join(place.folder, 'new')

    def wrong(self, what):
        self.tell(self.kind.name, f'seed {self.seed}, after {self.kills} kills: {what}')
        return False

    def next(self, args, at, seconds=None):
        """True: killed; False: it ended, or cannot be continued."""
        if seconds is None:
            code = (done := self.place.run(args, faulty(f'kill:change:{at}'))).code
        else:
            p = subprocess.Popen([PROGRAM] + args, cwd=self.place.folder, env=environment(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                done = code = p.wait(seconds)
            except subprocess.TimeoutExpired:
                p.kill()
                done = code = p.wait()
        self.ended = code == 0
        if code not in (0, -9):
            return self.wrong(f'a dead end: dcgan {" ".join(args)}: {done}')
        if code == 0:
            return False
        self.kills += 1
        return True

    def check(self):
        step = step_of(os.path.join(self.run, 'checkpoint.safetensors'))
        if step is None:
            return self.wrong('torn: checkpoint.safetensors')
        if step < self.safe:
            return self.wrong(f'lost: step {self.safe} was safe, and step {step} is left')
        self.safe = step
        return True

    def on(self):
        resume = os.path.exists(os.path.join(self.run, 'config.ini'))
        return ['--resume', '--out', 'new', '-q'] if resume else self.kind.args

    def live(self):
        self.place.fresh()
        at, more = self.random.randint(1, self.kind.calls), True
        while more and self.kills < A_LIFE:
            by_time = self.random.random() / 8 if self.random.randrange(8) == 0 else None
            more = self.next(self.on(), at, by_time) and self.check()
            at = self.random.choice((self.random.randint(1, 30), self.random.randint(1, self.kind.calls)))
        self.end()

    def end(self):
        if self.kills and not self.ended:
            self.next(self.on(), 0)
        other = difference(self.kind.expected, left(self.run)) if self.ended else ''
        if other:
            self.wrong('it ended, but ' + other)

    def go_back(self):
        """Killed during a rewind to an older checkpoint: later files are moved, whole, or in place."""
        self.place.fresh()
        shutil.copytree(self.kind.whole, self.run)
        self.safe = 0
        older = f'new/checkpoint-{BACK_TO:04d}.safetensors'
        if not self.next(['--resume', older, '-q'], self.random.randint(1, 70)) and not self.ended:
            return
        later = os.path.join(self.run, f'later-than-{BACK_TO:04d}')
        if not self.ended and not self.next(self.on(), self.random.randint(1, 70)) and not self.ended:
            return
        self.next(self.on(), 0)
        if self.ended and os.path.isdir(later):
            had = {n: v for n, v in left(later).items() if n in self.kind.expected}
            other = difference({n: self.kind.expected[n] for n in had}, had)
            if other or 'checkpoint.safetensors' not in had:
                self.wrong(f'back to epoch {BACK_TO}: in {os.path.basename(later)} {other or had.keys()}')
            shutil.rmtree(later)
        self.end()


def kill(place_for, jobs, kills, seed, tell, until):
    """`n` kills, or as many as fit until time `until`."""
    kinds = [Kind(name, place_for.get()) for name in RUNS]
    done = [0]

    def one(number):
        if done[0] >= kills or until():
            return
        life = Life(kinds[number % 8 in (2, 5, 7)], place_for.get(), seed * 1000003 + number, tell)
        if number % 4 == 3:
            life.go_back()
        else:
            life.live()
        done[0] += life.kills

    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(one, range(kills)):
            pass
    return done[0]
