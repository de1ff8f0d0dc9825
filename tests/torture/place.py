"""Where tortured commands run: folders with the same few inputs, and what is asked of every one of them."""
import gzip
import hashlib
import os
import re
import resource
import shutil
import struct
import subprocess
import threading
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(os.environ.get('DCGAN', os.path.join(ROOT, 'dcgan')))
PRELOADS = os.path.abspath(os.environ.get('PRELOADS') or os.path.join(ROOT, 'build/tests/preload'))
CODES = {0, 1, 2, 3, 4, 5, 6, 7, 8, 129, 130, 143}  # docs/reference.md, "Exit codes"
TEMPORARY = re.compile(r'dcgan-tmp|^going-back$')
# files with measured times or dates
TIMED = ('run.lock', 'report.html', 'session.json')
TIME = 300  # wall seconds after which a command hangs: the machine may be shared


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out.decode(errors='replace'), err.decode(errors='replace')

    def __str__(self):
        said = self.err.strip().splitlines()
        return f'exit {self.code}: ' + (' | '.join(said[-2:])[:300] if said else 'no message')


def environment(**more):
    keep = {k: v for k, v in os.environ.items() if not k.startswith(('DCGAN', 'FAULT', 'OMP_', 'GOMP_'))}
    keep.pop('PRELOADS', None)
    return {**keep, 'DCGAN_DEVICE': 'cpu', 'OMP_NUM_THREADS': '1', 'GOMP_SPINCOUNT': '5000', 'LC_ALL': 'C',
            'TMPDIR': '.', **more}


def faulty(fault, **more):
    """The environment in which a call fails; under sanitizers our allocations replace theirs."""
    more['LD_PRELOAD'] = os.path.join(PRELOADS, 'faults.so')
    more['ASAN_OPTIONS'] = 'verify_asan_link_order=0:allocator_may_return_null=1'
    if fault:
        more['FAULT'] = fault
    return environment(**more)


def limits(**values):
    """For subprocess: limits(AS=1 << 30) of this process's child, in bytes or numbers."""
    def set_them():
        for name, value in values.items():
            resource.setrlimit(getattr(resource, 'RLIMIT_' + name), (value, value))
    return set_them if values else None


def run(args, cwd, env=None, before=None, time=TIME):
    try:
        done = subprocess.run([PROGRAM] + list(args), cwd=cwd, env=env or environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=time, preexec_fn=before)
    except subprocess.TimeoutExpired as e:
        return Result('none', e.stdout or b'', (e.stderr or b'') + b'\nhangs')
    return Result(done.returncode, done.stdout, done.stderr)


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()[:16]


def text_without_time(path):
    """A log without its time-dependent columns: the last two of log.csv; "img_s" and the following ones of
    log.jsonl."""
    with open(path, errors='replace') as f:
        lines = f.read().split('\n')
    if path.endswith('.csv'):
        return [re.sub(r',[^,]*,[^,]*$', '', line) for line in lines]
    return [re.sub(r',"(seconds|img_s)".*', '', line) for line in lines]


def left(folder):
    """{name: contents} of a folder, without what depends on time."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            short = os.path.relpath(path, folder)
            if name in TIMED or name.startswith('events.out'):
                found[short] = 'there'
            elif name in ('log.csv', 'log.jsonl'):
                found[short] = text_without_time(path)
            elif name == 'config.ini':  # comments have the command and the date
                with open(path) as f:
                    found[short] = [line for line in f.read().split('\n') if not line.startswith(';')]
            else:
                found[short] = digest(path)
    return found


def difference(expected, got):
    """In words; '' where there is none."""
    if expected == got:
        return ''
    words = [f'{n} is missing' for n in sorted(expected.keys() - got.keys())]
    words += [f'{n} should not be there' for n in sorted(got.keys() - expected.keys())]
    for n in sorted(expected.keys() & got.keys()):
        if isinstance(expected[n], list) and expected[n] != got[n]:
            words.append(f'{n} has {len(got[n])} lines for {len(expected[n])}' if len(got[n]) != len(expected[n])
                         else f'{n} differs')
        elif expected[n] != got[n]:
            words.append(f'{n} differs')
    return ', '.join(words)[:300]


def temporaries(folder):
    return [os.path.relpath(os.path.join(at, n), folder) for at, _, names in os.walk(folder) for n in names
            if TEMPORARY.search(n)]


def records(folder):
    """Folders of gzipped IDX files, and of CIFAR-10 batches with the names of their classes."""
    for name in ('idx', 'cifar'):
        os.makedirs(os.path.join(folder, name))
    pixels, labels = bytes(i * i % 251 for i in range(9 * 256)), bytes(i % 3 for i in range(9))
    for name, head, values in (('train-images-idx3-ubyte.gz', struct.pack('>4I', 0x803, 9, 16, 16), pixels),
                               ('train-labels-idx1-ubyte.gz', struct.pack('>2I', 0x801, 9), labels)):
        with gzip.GzipFile(os.path.join(folder, 'idx', name), 'wb', mtime=0) as out:
            out.write(head + values)
    for k in range(2):
        with open(os.path.join(folder, 'cifar', f'data_batch_{k + 1}.bin'), 'wb') as out:
            for i in range(5):
                out.write(bytes([i]) + bytes((i + k + j * j) % 251 for j in range(3072)))
    with open(os.path.join(folder, 'cifar', 'batches.meta.txt'), 'w') as out:
        out.write(''.join(f'class {i}\n' for i in range(10)))


class Inputs:
    """Inputs of commands, made once by the program."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        for source, name in (('tests/tiny.cfg', 'tiny.cfg'), ('tests/golden/oracle16.safetensors', 'oracle'),
                             ('tests/oracles/adagrad-dropout.cfg', 'dropout.cfg')):
            shutil.copy(os.path.join(ROOT, source), os.path.join(folder, name))
        tuning = sorted(os.listdir(os.path.join(ROOT, 'kernels/tuning')))
        with open(os.path.join(folder, 'a.tune'), 'wb') as out:
            for name in (n for n in tuning if n.endswith('.tune')):
                with open(os.path.join(ROOT, 'kernels/tuning', name), 'rb') as f:
                    out.write(f.read())
        records(folder)
        for line in ('data --synthesize cats --count 9 --size 16 -q',
                     'data --synthesize many --count 32 --size 16 -q',
                     'data --synthesize shapes --classes 4 --count 16 --size 16 -q',
                     '--data cats --model tiny.cfg --batch 4 --epochs 1 --out run --cache cache -q',
                     '--data shapes --test 0.25 --model dropout.cfg --batch 4 --epochs 1 --seed 1 --out net -q',
                     '--data cats --model tiny.cfg --batch 4 --epochs 2 --checkpoint-every 1 --no-report --out two -q',
                     'export run --out generator.safetensors',
                     'generate run -n 2 --out images'):
            done = run(line.split(), folder)
            if done.code != 0:
                raise SystemExit(f'torture: dcgan {line}: {done}')
        with zipfile.ZipFile(os.path.join(folder, 'cats.zip'), 'w', zipfile.ZIP_DEFLATED) as out:
            for name in sorted(os.listdir(os.path.join(folder, 'cats'))):
                out.write(os.path.join(folder, 'cats', name), 'below/' + name)
        self.names = sorted(os.listdir(folder))


class Place:
    """A folder of one worker, in which a command finds the inputs under the same names each time."""

    def __init__(self, folder, inputs):
        self.folder, self.inputs = folder, inputs
        os.makedirs(folder)

    def fresh(self, changes=()):
        """Only the inputs: links to them, and copies of those that the command changes."""
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            if os.path.islink(path):
                if name not in changes:
                    continue
                os.unlink(path)
            elif os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        for name in self.inputs.names:
            source, path = os.path.join(self.inputs.folder, name), os.path.join(self.folder, name)
            if os.path.lexists(path):
                continue
            if name not in changes:
                os.symlink(source, path)
            elif os.path.isdir(source):
                shutil.copytree(source, path)
            else:
                shutil.copy2(source, path)
        return self

    def made(self):
        """Files left by a command: names in addition to the inputs, and the inputs that it may change."""
        found = {}
        for name in sorted(os.listdir(self.folder)):
            path = os.path.join(self.folder, name)
            if os.path.islink(path):
                continue
            if os.path.isdir(path):
                found.update({f'{name}/{k}': v for k, v in left(path).items()})
            else:
                found[name] = digest(path)
        return found

    def run(self, args, env=None, **more):
        return run(args, self.folder, env, **more)


class Places:
    """One per thread."""

    def __init__(self, folder, inputs):
        self.folder, self.inputs, self.mine = folder, inputs, threading.local()
        self.count, self.lock = 0, threading.Lock()

    def get(self):
        if not hasattr(self.mine, 'place'):
            with self.lock:
                self.count += 1
                self.mine.place = Place(os.path.join(self.folder, f'worker-{self.count}', 'place'), self.inputs)
        return self.mine.place
