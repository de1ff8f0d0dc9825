"""The commands that are tortured."""
from dataclasses import dataclass

# Kinds of calls as in tests/preload/faults.c, without memory.
OTHERS = ('thread', 'open', 'read', 'write', 'flush', 'sync', 'close', 'rename', 'link', 'unlink', 'stat', 'list',
          'make', 'size', 'lock', 'mode')


@dataclass
class Command:
    name: str
    line: str
    changes: tuple = ()     # inputs that it changes: it gets copies
    files: bool = True      # every kind of call and kills; False: only allocations
    same: bool = True       # it prints the same each time
    run: str = ''           # the run directory that it trains in; --resume continues it
    threads: str = '1'
    slow: int = 1           # divides the number of faults

    def args(self):
        return self.line.split()

    def again(self, begun):
        """Continues after a failure. begun: there is a run that can be resumed."""
        if self.run and begun:
            return ['--resume', '--out', self.run, '-q'] + (['--epochs', '2'] if self.name == 'resume' else [])
        return self.args()


RECIPE = '--model tiny.cfg --batch 4 --epochs 1 --no-report -q'
TRAIN = '--data cats --model tiny.cfg --batch 4 -q --checkpoint-every 1 --keep 2'
COMMANDS = [
    Command('run', f'{TRAIN} --epochs 1 --out new', run='new', same=False),
    Command('resume', '--resume --out run --epochs 2 -q', changes=('run',), run='run', same=False),
    Command('classifier', '--data shapes --test 0.25 --model dropout.cfg --batch 4 --epochs 1 --seed 1 --out new -q',
            run='new', same=False, files=False),
    Command('zip', f'--data cats.zip {RECIPE} --out new', run='new', same=False, slow=4),
    Command('idx', f'--data idx {RECIPE} --out new', run='new', same=False, slow=4),
    Command('cifar', f'--data cifar {RECIPE} --out new', run='new', same=False, slow=4),
    Command('generate', 'generate run -n 2 --out new'),
    Command('interpolate', 'interpolate run --seeds 1-2 --frames 2 --out new'),
    Command('find', 'find run cats -n 1 --starts 1 --steps 2 --out new'),
    Command('export', 'export run --out new'),
    Command('onnx', 'export run --onnx --out new'),
    Command('c', 'export run --c new'),
    Command('html', 'export run --html new'),
    Command('import', 'import generator.safetensors --out new'),
    Command('data', 'data cats --model tiny.cfg --cache cached --sheet new --json'),
    Command('data cached', 'data cats --model tiny.cfg --cache cache --json', changes=('cache',)),
    Command('images', 'data cats --model tiny.cfg --write new --json', slow=2),
    Command('synthesize', 'data --synthesize new --count 2 --size 16'),
    Command('report', 'report run --out new'),
    Command('doctor', 'doctor run --json'),
    Command('info', 'info run --json'),
    Command('replay', 'replay oracle --steps 1 --json'),
    Command('eval', 'eval many --data many --model tiny.cfg --json', slow=50),
    Command('classify', 'classify net shapes --json'),
    # only allocations
    Command('verify', 'verify two -q', files=False),
    Command('threads', f'{TRAIN} --epochs 1 --out new --threads 3 --no-report', run='new', same=False, files=False,
            threads='3'),
    Command('aug preview', 'data cats --size 16 --augment color --aug-preview new', files=False),
    Command('report two', 'report run run --out new', files=False),
    *(Command('info ' + f, 'info ' + f + ' --json', files=False) for f in (
        'run/checkpoint.safetensors', 'generator.safetensors', 'oracle', 'run/log.csv', 'run/log.jsonl',
        'run/config.ini', 'tiny.cfg', 'cache', 'images/grid.png')),
    Command('plan', 'plan tiny.cfg --json', files=False),
    Command('plan h200', 'plan tiny.cfg --arch h200', files=False),
    Command('plan fit', 'plan tiny.cfg --fit --device-memory 1', files=False),
    Command('predict', 'profile tiny.cfg --predict h200', files=False),
    Command('profile', 'profile tiny.cfg --batch 4 --repeats 1 --json', files=False, same=False, slow=6),
    Command('bench', 'bench tiny.cfg --batch 4 --repeats 1 --json', files=False, same=False, slow=6),
    Command('check', 'check tiny.cfg --batch 3', files=False, same=False),
    Command('batch', 'batch tiny.cfg --data cats --max-batch 4 --min-batch 4 --seconds 0.01 --json', files=False,
            same=False),
    Command('sweep', 'batch tiny.cfg --data cats --sweep 4-4 --seconds 0.01', files=False, same=False),
    Command('rule', 'batch tiny.cfg --data cats --rule epoch-time --min-batch 4 --steps 1', files=False, same=False),
    Command('merge', 'tune --merge a.tune a.tune --out new', files=False),
    Command('help', '--help', files=False),
]
