"""The table of scripts/paper-tables: what was published beside what was found in its folder."""
import datetime
import json
import os
import statistics
import subprocess

# Epoch: loss and accuracy (%) in training, loss and accuracy on the validation pictures; on its CPU
THEANO = {1: (1.4223, 50.38, 1.4358, 49.84), 2: (1.0853, 62.79, 1.1394, 61.08), 3: (0.8889, 69.49, 0.9934, 65.85),
          4: (0.8075, 71.92, 0.9680, 66.17), 5: (0.6671, 77.52, 0.8897, 69.93), 10: (0.2392, 93.17, 0.9336, 72.15),
          20: (0.0036, 100, 1.3997, 74.07), 50: (0.0017, 100, 1.4136, 74.36)}
KERAS = [28.9, 48.9, 59.1, 64.9, 69.9, 74.2, 76.9, 79.1, 80.3, 81.7, 82.6, 83.6]
# What is compared: row's text, run, what was published
TESTS = [
    ('MNIST in CuPy (`cnn-mnist`), batch 8, 5 epochs', 'mnist', '98.03'),
    ('MNIST in Keras (`cnn-mnist-keras`), 12 epochs, Adadelta at 0.001', 'keras', '83.56'),
    ('the same at 1.0', 'keras-1', '99.25'),
    ('CIFAR-10 in Theano (`cnn-cifar`), 16 channels', 'cifar', '73.69 on a CPU, 73.85 on a GPU'),
    ('64 channels', 'cifar-64', '75.92'),
    ('256 channels', 'cifar-256', '75.99'),
    ('64 channels, two dense layers', 'cifar-dense', '75.51'),
    ('64 channels, pool 2', 'cifar-pool', '72.72'),
    ('64 channels, pool 4, every 2 (`cnn-cifar-overlap`)', 'cifar-overlap', 'given up: 30 min an epoch'),
]
TIMES = [
    ('`cnn-mnist`, 7,500 steps of 8', 'mnist', '50 s on a GPU, 30 min on a CPU', 7500),
    ('`cnn-mnist-keras`, 469 steps of 128', 'keras-1', '4 s on a GPU', 469),
    ('`cnn-cifar`, 400 steps of 100', 'cifar', '74 s on a CPU, 12 s on a GPU', 400),
    ('its 64 channels', 'cifar-64', '16 s on a GPU', 400),
    ('`cnn-cifar-overlap`', 'cifar-overlap', '30 min', 400),
    ('`cnn-caltech`, 20 steps of 64', 'caltech', '1,451 s in Python, 991 s in Cython, 6 cores', 20),
]
# Of the published step: forward 1.32 ms, backward 10.3, update 1.64; what it says of layers, after its improvement
LAYERS = [
    ('pooling, gradient', ['C.2.max_pool.dx'], '9.72 ms, improved 0.28 ms'),
    ('convolution, gradient', ['C.1.bias.dx', 'C.1.conv.dw'], '442 us'),
    ('hidden layer, gradient', ['C.3.bias.dx', 'C.3.dense.dw', 'C.3.dense.dx'], '224 us'),
    ('output layer, gradient', ['C.4.bias.dx', 'C.4.dense.dw', 'C.4.dense.dx'], '152 us'),
    ('forward, all', None, '1.32 ms'),
    ('Adam', ['C.adam'], '1.64 ms'),
]


def table(rows):
    return '\n'.join('| ' + ' | '.join(map(str, r)) + ' |' for r in [rows[0], ['---'] * len(rows[0]), *rows[1:]]) + '\n'


def mean(values):
    spread = f' ({min(values):.2f} to {max(values):.2f})' if len(values) > 1 else ''
    return f'{statistics.mean(values):.2f}{spread}'


def load(path):
    try:
        with open(path) as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def accuracies(runs, missing):
    rows = [['test accuracy, %', 'published', 'here', 'seeds', 'epochs', 'commit']]
    for text, name, published in TESTS:
        done = runs.get(name, [])
        if done:
            rows.append([text, published, mean([r['test'] for r in done]), len(done), done[0]['epochs'],
                         ', '.join(sorted({r['commit'] for r in done}))])
        else:
            missing.append(text)
    return '## Test accuracy\n\n' + table(rows) + '\n'


def curve(runs, o):
    done = runs.get('cifar', [])
    if not done:
        return ''
    rows = [['epoch', 'published: training', 'here', 'published: validation', 'here', 'difference']]
    for epoch, (_, accuracy, _, held_out) in THEANO.items():
        if epoch <= done[0]['epochs']:
            ours = [r['held_out'][epoch - 1] for r in done]
            rows.append([epoch, accuracy, f"{statistics.mean([r['accuracy'][epoch - 1] for r in done]):.2f}", held_out,
                         mean(ours), f'{statistics.mean(ours) - held_out:+.2f}'])
    picture = draw(done, o)
    return f"""## CIFAR-10 in Theano, epoch by epoch

Means of {len(done)} seeds. The published training accuracy was taken after the epoch on all pictures, ours is the mean
over the epoch's steps, while the weights move.

{table(rows)}
![Curves of cnn-cifar over the published ones]({picture})

"""


def draw(done, o):
    """The published numbers as a run's log.csv, so that `dcgan curves` draws all of them."""
    folder = os.path.join(o.folder, 'curves')
    published = os.path.join(folder, 'published')
    os.makedirs(published, exist_ok=True)
    with open(os.path.join(published, 'log.csv'), 'w') as file:
        print('epoch,step,loss,accuracy,test_loss,test_accuracy,img_s,seconds', file=file)
        for epoch, (loss, accuracy, test_loss, test) in THEANO.items():
            row = (epoch, 400 * epoch, loss, accuracy / 100, test_loss, test / 100, 647, 74.1 * epoch)
            print(*row, sep=',', file=file)
    names = [published]
    for r in done:
        names.append(os.path.join(folder, f"here, seed {r['seed']}"))
        if not os.path.lexists(names[-1]):
            os.symlink(os.path.join(o.folder, r['at'], 'run'), names[-1])
    picture = os.path.splitext(o.out)[0] + '-cnn-cifar.png'
    subprocess.run([o.dcgan, 'curves', *names, '--out', picture, '-q'], check=True)
    return os.path.basename(picture)


def caltech(runs, missing):
    done = [r for r in runs.get('caltech', []) if r.get('torch')]
    if not done:
        missing.append('Caltech-101 in Cython, accuracy beside PyTorch')
        return ''
    rows = [['epoch', 'PyTorch, same recipe', 'here', 'difference']]
    for i in range(done[0]['epochs']):
        ours, theirs = ([100 * v for v in (r['torch']['accuracy'][i] for r in done)], [r['held_out'][i] for r in done])
        rows.append([i + 1, mean(ours), mean(theirs), f'{statistics.mean(theirs) - statistics.mean(ours):+.2f}'])
    return f"""## Caltech-101 in Cython, six classes

Test accuracy in %, {len(done)} seeds, {done[0]['commit']}. The published accuracy is a curve without numbers; start of
the weights (He) and learning rate as in `models/cnn-caltech.cfg`, half of each class for testing.

{table(rows)}
"""


def keras(runs):
    done = runs.get('keras', [])
    if not done:
        return ''
    rows = [['test accuracy, %', *range(1, len(KERAS) + 1)], ['published', *KERAS]]
    rows += [[f"here, seed {r['seed']}", *(f'{v:.1f}' for v in r['held_out'])] for r in done]
    rows += [[f"PyTorch, same recipe, seed {r['seed']}", *(f'{100 * v:.1f}' for v in r['torch']['accuracy'])]
             for r in done if r['torch']]
    return f"""## MNIST in Keras at a rate of 0.001, epoch by epoch

{table(rows)}
"""


def times(t, missing):
    rows = [['epoch', 'published', 'here, s', 'best, s', 'PyTorch, s', 'times', 'commit']]
    for text, name, published, steps in TIMES:
        if name not in t:
            missing.append('time of an epoch: ' + text)
            continue
        theirs = t[name]['torch']['median_ms'] * steps / 1e3
        rows.append([text, published, f"{t[name]['epoch']:.1f}", f"{t[name]['best']:.1f}", f'{theirs:.1f}',
                     f"{theirs / t[name]['epoch']:.2f}", t[name]['commit']])
    if len(rows) == 1:
        return ''
    out = '## Time of an epoch\n\n' + table(rows) + """
Here: medians and best of the epochs of two runs, with the test that follows each. PyTorch: the median of a few steps
between our two runs times the steps of an epoch, pictures as tensors in memory, the faster of its two layouts, no test.
"""
    if 'cifar-overlap' in t and 'cifar-64' in t:
        ratio = t['cifar-overlap']['epoch'] / t['cifar-64']['epoch']
        out += (f'\nOverlapping pools take {ratio:.2f} times an epoch of pools side by side; their dense layer has\n'
                '3.45 times the weights.\n')
    if 'whole' in t:
        w = t['whole']
        out += (f"\n50 epochs of `cnn-cifar` with reading, whitening and test took {w['wall'] / 60:.1f} minutes "
                f"({w['commit']}); published 61.8 on a CPU, 10.3 on a\nGPU.\n")
    return out + '\n'


def layers(t):
    if 'profile' not in t:
        return ''
    model = t['profile']['models'][0]
    us = {op['name']: 1e3 * op['median_ms'] for op in model['ops']}
    step = sum(us.values())
    rows = [['a step of 8', 'published, on a GPU', 'here, us', 'share']]
    for text, ops, published in LAYERS:
        here = sum(v for k, v in us.items() if (k in ops if ops else k.endswith(('.fwd', 'gather', 'softmax'))))
        rows.append([text, published, f'{here:.0f}', f'{100 * here / step:.1f}%'])
    rows.append(['all', '13.3 ms, improved 3.8 ms', f'{step:.0f}', '100%'])
    return f"""## The layers of `cnn-mnist`

`dcgan profile cnn-mnist --batch 8`, commit {t['profile']['commit']}; the published step was timed call by call.

{table(rows)}
"""


def write(o, path_of, wanted):
    runs, missing = {}, []
    for name, seed, _ in wanted:
        path = path_of(o, name, seed)
        done = load(path)
        if done:
            done['torch'] = load(path.replace('result', 'torch'))
            done['at'] = os.path.basename(os.path.dirname(path))
            runs.setdefault(name, []).append(done)
    t = load(os.path.join(o.folder, 'timings.json')) or {}
    body = accuracies(runs, missing) + curve(runs, o) + keras(runs) + caltech(runs, missing) + times(t, missing)
    body += layers(t)
    if 'pi' in t:
        body += '## Pi by 200 million trapezoids\n\nPublished: 421 ms on one thread, 75 on six.\n\n' + t['pi'] + '\n'
    if missing:
        body += 'Not run yet: ' + '; '.join(missing) + '.\n'
    with open('/proc/cpuinfo') as file:
        cpu = next((line.split(':')[1].strip() for line in file if line.startswith('model name')), 'an unnamed CPU')
    how = 'scripts/paper-tables' + (' --short' if o.short else '')
    with open(o.out, 'w') as file:
        file.write(f"""# The published classifiers, and ours

{datetime.date.today()}, {cpu}, {os.cpu_count()} cores, fp32. Made by `{how}`; each row says its commit.
Training runs may have shared the machine, measurements of time did not.

{body}""")
    print(o.out)
