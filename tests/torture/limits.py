"""Limits of the system: full disks, no inodes, little memory, few files, small files."""
import os
import subprocess

from concurrent.futures import ThreadPoolExecutor

from place import difference, limits, temporaries

RUN = '--data cats --model tiny.cfg --batch 4 --epochs 1 --checkpoint-every 1 -q --out new'
COMMANDS = {'run': RUN, 'generate': 'generate run -n 2 --out new', 'export': 'export run --out new',
            'data': 'data cats --model tiny.cfg --sheet new --json'}
# (limit, first, last, step, exit codes): addresses in bytes; 127: the system cannot load the program
LIMITS = (('AS', 24 << 20, 160 << 20, 2 << 20, (0, 1, 5, 127)), ('NOFILE', 4, 40, 1, (0, 2, 3, 4, 5, 127)),
          ('FSIZE', 0, 120000, 2000, (0, 4)))


def may_mount():
    """True if a tmpfs is possible in a private mount namespace."""
    return subprocess.run(['unshare', '-m', 'mount', '-t', 'tmpfs', 'none', '/mnt'], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def mount(folder, options):
    os.makedirs(folder, exist_ok=True)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', options, 'none', folder], check=True)


class Whole:
    """Results of commands without limits."""

    def __init__(self, place):
        self.made = {}
        for name, line in COMMANDS.items():
            place.fresh()
            done = place.run(line.split())
            if done.code != 0:
                raise SystemExit(f'torture: undisturbed, dcgan {line}: {done}')
            self.made[name] = place.made()


def again(name, place):
    begun = os.path.exists(os.path.join(place.folder, 'new', 'config.ini')) and name == 'run'
    return ['--resume', '--out', 'new', '-q'] if begun else COMMANDS[name].split()


def judge(whole, name, place, done, codes):
    """Errors of a command under a limit; without the limit it then continues."""
    if done.code not in codes or done.code != 0 and not done.err.strip():
        return str(done)
    if temporaries(place.folder):
        return f'{done}; leaves {temporaries(place.folder)}'
    made = place.made()
    if done.code != 0 or made != whole.made[name] and done.err:
        after = place.run(again(name, place))
        if after.code != 0:
            return f'{done}; then {after}'
        made = place.made()
    other = difference({k: v for k, v in whole.made[name].items() if 'nearest' not in k and 'report' not in k},
                       {k: v for k, v in made.items() if 'nearest' not in k and 'report' not in k})
    return f'{done}; then {other}' if other else ''


def begins(place):
    """The minimum memory, to 64 KB, in which the program starts: below it the system's loader fails."""
    least, most = 0, 4096
    while most - least > 1:
        middle = (least + most) // 2
        if place.run(['--version'], before=limits(AS=middle << 16)).code in (0, 5):
            most = middle
        else:
            least = middle
    return most << 16


def under_a_limit(whole, place, name, limit, value, codes):
    place.fresh()
    under = limits(**{limit: value})
    if limit == 'AS' and place.run(['--version'], before=under).code < 0:
        return ''  # the system's loader fails before the program starts
    done = place.run(COMMANDS[name].split(), before=under)
    if limit == 'AS' and done.code == 5 and 'ulimit -v' not in done.err:
        return f'{done} does not name the limit'
    return judge(whole, name, place, done, codes)


def on_a_disk(whole, place, options):
    """A run on a tmpfs that is too small, then with enough room."""
    place.fresh()
    disk = os.path.join(place.folder, 'new')
    mount(disk, options)
    try:
        done = place.run(RUN.split())
        os.system(f'mount -o remount,size=20m,nr_inodes=1000 {disk}')
        return judge(whole, 'run', place, done, (0, 4))
    finally:
        # lazily: a process just started by another worker briefly holds our open files
        subprocess.run(['umount', '-l', disk], check=True)


def torture(place_for, jobs, tell, every=1, seed=0):
    """All limits; returns their number. tell(what, words) is called for errors."""
    whole, work, least = Whole(place_for.get()), [], begins(place_for.get())
    for name in COMMANDS:
        for limit, first, last, step, codes in LIMITS:
            values = range(first + seed % every * step, last, step * every)
            work += [(f'{limit} {name}', under_a_limit, name, limit, v, codes) for v in values]
        # 96 KB apart, less than any growth of the stack
        values = range(least, least + (6 << 20), 96 << 10) if name == 'run' or every == 1 else ()
        work += [(f'little memory, {name}', under_a_limit, name, 'AS', v, (0, 1, 5, 127)) for v in values]
    if os.environ.get('TORTURE_MOUNTS'):
        work += [('disk', on_a_disk, f'size={4 * n}k') for n in range(1 + seed % every, 160, every)]
        work += [('inodes', on_a_disk, f'size=20m,nr_inodes={n}') for n in range(2, 20, min(every, 3))]
    def one(job):
        what, function, *given = job
        wrong = function(whole, place_for.get(), *given)
        if wrong:
            tell(what, f'{given}: {wrong}')

    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(one, work):
            pass
    return len(work)
