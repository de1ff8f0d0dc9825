"""Power failures: the files of a run are laid out as a failure at each of its calls may leave them, and the run is
resumed from that. record.so (tests/preload/record.c) records what was written and what was synced.

Names and data are separate, as in file systems: names are those of the last fsync of their directory, or the present
ones; unsynced data is there, or missing, or half there, or zeros."""
import os
import shutil
from concurrent.futures import ThreadPoolExecutor

from kills import step_of
from place import PRELOADS, difference, environment, left

EACH = '--checkpoint-every 1'  # the default depends on time
RUN = f'--data cats --model tiny.cfg --batch 4 --seed 3 --epochs 3 {EACH} --keep 2 -q --out new'
CLASSIFIER = f'--data shapes --test 0.25 --model dropout.cfg --batch 4 --seed 1 --epochs 3 {EACH} -q --out new'
# name, the command, preparation
RUNS = (('a run', RUN, []), ('going on', '--resume --out new --epochs 4 -q', [RUN]),
        ('going back', '--resume new/checkpoint-0002.safetensors -q', [RUN]), ('a classifier', CLASSIFIER, []))
DATA = {
    'kept': lambda safe, now: now,
    'dropped': lambda safe, now: safe,
    'cut': lambda safe, now: now[:len(safe) + (len(now) - len(safe)) // 2],
    'zeros': lambda safe, now: safe + bytes(max(0, len(now) - len(safe))),
}


class File:
    def __init__(self, data=b''):
        self.now, self.safe = bytearray(data), bytes(data)


class Disk:
    """The files below a folder: present names and synced names."""

    def __init__(self, folder):
        self.folder, self.inode, self.dirs, self.safe_dirs = folder, {}, {folder}, {folder}
        self.names, self.safe_names = {}, {}
        for at, dirs, names in os.walk(folder):
            self.dirs.update(os.path.join(at, d) for d in dirs if not os.path.islink(os.path.join(at, d)))
            for name in names:
                path = os.path.join(at, name)
                if os.path.islink(path):
                    continue
                with open(path, 'rb') as f:
                    self.names[path] = self.inode.setdefault(os.stat(path).st_ino, File(f.read()))
        self.safe_dirs, self.safe_names = set(self.dirs), dict(self.names)

    def do(self, what, fields, data):
        """One line of the record."""
        if what == 'create':
            inode, path = int(fields[0]), fields[1]
            if not path.startswith(self.folder + os.sep):  # it would be laid out there
                raise ValueError(f'{path}: made outside of {self.folder}')
            if path not in self.names or self.names[path] is not self.inode.get(inode):
                self.names[path] = self.inode[inode] = File()
        elif what == 'write':
            f, at = self.inode[int(fields[0])], int(fields[1])
            f.now.extend(bytes(max(0, at - len(f.now))))
            f.now[at:at + len(data)] = data
        elif what == 'size':
            f, n = self.inode[int(fields[0])], int(fields[1])
            del f.now[n:]
            f.now.extend(bytes(n - len(f.now)))
        elif what == 'sync':
            f = self.inode[int(fields[0])]
            f.safe = bytes(f.now)
        elif what == 'syncdir':
            self.sync_names(fields[0])
        elif what == 'rename':
            self.names[fields[1]] = self.names.pop(fields[0])
        elif what == 'link':
            self.names[fields[1]] = self.names[fields[0]]
        elif what == 'unlink':
            self.names.pop(fields[0], None)
            self.dirs.discard(fields[0])
        elif what == 'make':
            self.dirs.add(fields[0])
        else:
            raise ValueError(what)

    def sync_names(self, folder):
        for path in [p for p in self.safe_names if os.path.dirname(p) == folder]:
            del self.safe_names[path]
        self.safe_names.update({p: f for p, f in self.names.items() if os.path.dirname(p) == folder})
        self.safe_dirs = {d for d in self.safe_dirs if os.path.dirname(d) != folder or d in self.dirs}
        self.safe_dirs.update(d for d in self.dirs if os.path.dirname(d) == folder)

    def there(self, path):
        """True if all directories on the way to it are synced."""
        path = os.path.dirname(path)
        while path != self.folder:
            if path not in self.safe_dirs:
                return False
            path = os.path.dirname(path)
        return True

    def states(self):
        """(words, {path: bytes}, directories) of possible states now."""
        for names in ('kept', 'dropped'):
            files = self.names if names == 'kept' else {p: f for p, f in self.safe_names.items() if self.there(p)}
            dirs = self.dirs if names == 'kept' else {d for d in self.safe_dirs if self.there(d)}
            for data, of in DATA.items():
                found = {p: bytes(of(f.safe, bytes(f.now))) for p, f in files.items()}
                yield f'names {names}, data {data}', found, dirs


def lines(path):
    """(what, fields, data) of a record."""
    with open(path, 'rb') as f:
        while line := f.readline():
            what, *fields = line.decode(errors='surrogateescape').rstrip('\n').split('\t')
            data = f.read(int(fields[2])) if what == 'write' else b''
            if what == 'write':
                f.readline()
            yield what, fields, data


class Failures:
    """A run, and all states that a power failure during it may leave."""

    def __init__(self, name, place, args, before=()):
        self.name, self.args, record = name, args, f'{place.folder}-{name}'
        self.before = before
        place.fresh()
        for line in before:
            self.must(place, line.split())
        self.disk = Disk(place.folder)
        self.must(place, args, LD_PRELOAD=os.path.join(PRELOADS, 'record.so'), RECORD=record)
        self.expected = left(os.path.join(place.folder, 'new'))
        self.record = record

    def must(self, place, args, **env):
        done = place.run(args, environment(**env))
        if done.code != 0:
            raise SystemExit(f'torture: undisturbed, dcgan {" ".join(args)}: {done}')

    def states(self):
        """(number of the call, words, the saved step, files by short path, directories), each state once."""
        seen, safe, folder = set(), 0, self.disk.folder
        newest = os.path.join(folder, 'new', 'checkpoint.safetensors')
        calls = [('nothing', [], b'')] + list(lines(self.record))
        for number, (what, fields, data) in enumerate(calls):
            if number:
                self.disk.do(what, fields, data)
            if what == 'syncdir' and fields[0] == os.path.dirname(newest) and newest in self.disk.names:
                safe = step_in(bytes(self.disk.names[newest].now))
            for words, files, dirs in self.disk.states():
                key = safe, frozenset((p, hash(d)) for p, d in files.items()), frozenset(dirs)
                if key in seen:
                    continue
                seen.add(key)
                yield (number, words, safe, {os.path.relpath(p, folder): d for p, d in files.items()},
                       [os.path.relpath(d, folder) for d in dirs])

    def go_on(self, place, state):
        number, words, safe, files, dirs = state
        place.fresh()
        for d in sorted(dirs):
            os.makedirs(os.path.join(place.folder, d), exist_ok=True)
        for name, data in files.items():
            with open(os.path.join(place.folder, name), 'wb') as f:
                f.write(data)
        run, at = os.path.join(place.folder, 'new'), f'call {number}, {words}: '
        step = step_of(os.path.join(run, 'checkpoint.safetensors'))
        if step is None:
            return at + 'torn: checkpoint.safetensors'
        if step < safe:
            return at + f'lost: step {safe} was safe, and step {step} is left'
        begun = os.path.exists(os.path.join(run, 'config.ini'))
        args = self.args if self.before or not begun else ['--resume', '--out', 'new', '-q']
        done = place.run(args)
        if done.code != 0:
            return at + f'a dead end: dcgan {" ".join(args)}: {done}'
        for name in os.listdir(run):
            if name.startswith('later-than-'):
                shutil.rmtree(os.path.join(run, name))
        other = difference({k: v for k, v in self.expected.items() if not k.startswith('later-than-')}, left(run))
        return at + other + (': ' + done.err[-300:] if done.err else '') if other else ''


def step_in(data):
    """Step of a checkpoint's bytes."""
    length = int.from_bytes(data[:8], 'little')
    at = data.find(b'"step":"', 8, 8 + length)
    return int(data[at + 8:data.index(b'"', at + 8)]) if at > 0 else 0


def fail(place_for, jobs, tell, every=1):
    """Every state of a run, and of a resumed one; returns their number."""
    count = 0
    with ThreadPoolExecutor(jobs) as pool:
        for name, args, before in RUNS:
            f = Failures(name, place_for.get(), args.split(), before)
            states = [s for i, s in enumerate(f.states()) if i % every == 0]
            count += len(states)

            def one(state, f=f):
                wrong = f.go_on(place_for.get(), state)
                if wrong:
                    tell(f.name, wrong)

            for _ in pool.map(one, states):
                pass
    return count
