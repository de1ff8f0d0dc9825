#!/usr/bin/env python3
"""Time training steps with RpGAN, R1 and R2: dcgan, and PyTorch with double backward, in turns.

    tools/pytorch/bench_penalty.py [--models A,B] [--batch 64] [--rounds 9] [--steps 3] [--modes A/B] [--no-torch]
                                   [--device cpu|cuda] [--program ./dcgan]

Per model, each round times STEPS steps of every variant: dcgan without and with penalties (gamma 0 and 1), and each
mode of PyTorch without and with penalties. The table has the median per step of each round: its min, median and max.
The ratios are medians over rounds of the ratio within a round. D's step is the sum of its ops (dcgan bench --json).
The networks of PyTorch are built from the model text of dcgan. torch.compile refuses autograd.grad with create_graph,
so compiled modes take the gradient by torch.func. PyTorch gets one batch of real and generated images, and reads no
losses. A mode that fails is printed with its reason.
"""
import argparse
import json
import os
import statistics
import struct
import subprocess
import tempfile
import time

MODES = {'cpu': 'eager/channels_last/compile/compile,channels_last',
         'cuda': 'fp32/fp32,channels_last/fp32,compile/fp32,graph/fp32,channels_last,graph'}


def dcgan(o, *arguments):
    return subprocess.run([o.program, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


def text_of(o, model, folder):
    """The text of a built-in model, from the checkpoint of one step."""
    images, run = os.path.join(folder, 'images'), os.path.join(folder, 'run')
    dcgan(o, 'data', '--synthesize', images, '--count', 2, '--size', 32, '-q')
    dcgan(o, '--data', images, '--model', model, '--batch', 2, '--steps', 1, '--no-report', '--no-curves', '-q',
          '--out', run)
    with open(os.path.join(run, 'checkpoint.safetensors'), 'rb') as file:
        return json.loads(file.read(struct.unpack('<Q', file.read(8))[0]))['__metadata__']['model']


class Program:
    """A step of dcgan by `bench`, with one model file per gamma."""

    def __init__(self, o, text, folder):
        self.o, self.files = o, []
        for gamma in (0, 1):
            self.files.append(os.path.join(folder, f'gamma{gamma}.cfg'))
            with open(self.files[-1], 'w') as file:
                file.write(text + f'\n[train]\nloss = rpgan\nr1 = {gamma}\nr2 = {gamma}\nbeta1 = 0\n')

    def round(self):
        """{name: ms} of both steps, and of D's ops up to its update."""
        o, out = self.o, {}
        report = json.loads(dcgan(o, 'bench', *self.files, '--batch', o.batch, '--repeats', o.steps, '--json', '-q',
                                  '--precision', 'fp32', '--device', o.device))
        for gamma, row in enumerate(report['models']):
            names = [op['name'] for op in row['ops']]
            of_d = [op['median_ms'] for op in row['ops'][:names.index('D.adam') + 1] if op['name'].startswith('D.')]
            out[f'dcgan, gamma {gamma}'] = row['median_ms']
            out[f"dcgan, gamma {gamma}, D's step"] = sum(of_d)
        return out


def torch_step(torch, o, text, words, gamma):
    """PyTorch's training step as a function without arguments."""
    import bench_pytorch
    import torch_model
    F, device = torch.nn.functional, torch.device(o.device)
    bench_pytorch.set_up(torch, o, words)
    sections = torch_model.parse(text)
    model = sections['model']
    size = torch_model.size_of(model['size'])
    channels, latent = int(model.get('channels', 3)), int(model.get('latent', 100))
    layout = torch.channels_last if 'channels_last' in words else torch.contiguous_format
    G, D = (torch_model.Network(sections, net, shape).to(device, memory_format=layout)
            for net, shape in (('G', (latent, 1, 1)), ('D', (channels, *size))))
    real = (torch.rand(o.batch, channels, *size) * 2 - 1).to(device).contiguous(memory_format=layout)
    extra = {'fused': True, **({'capturable': True} if 'graph' in words else {})}
    adam_g, adam_d = (torch.optim.Adam(net.parameters(), 2e-4, (0.0, 0.999), **extra) for net in (G, D))
    params_d = list(D.parameters())

    def summed(x):
        y = D(x).flatten()
        return y.sum(), y

    def loss_of_d(x):
        if not gamma:
            logit, v = D(x).flatten(), None
        elif 'compile' in words:
            v, logit = torch.func.grad(summed, has_aux=True)(x)
        else:
            total, logit = summed(x.requires_grad_(True))
            v, = torch.autograd.grad(total, x, create_graph=True)
        one, other = logit.chunk(2)
        loss = F.softplus(other - one).mean()
        return loss + gamma / 2 / o.batch * v.square().sum() if gamma else loss

    def loss_of_g(fake):
        with torch.no_grad():
            one = D(real).flatten()
        return F.softplus(one - D(fake).flatten()).mean()

    make = G
    if 'compile' in words:
        loss_of_d, loss_of_g, make = (torch.compile(f) for f in (loss_of_d, loss_of_g, G))

    def step():
        adam_d.zero_grad(set_to_none=True)
        fake = make(torch.randn(o.batch, latent, 1, 1, device=device))
        losses = [loss_of_d(torch.cat([real, fake.detach()]))]
        losses[0].backward()
        adam_d.step()
        adam_g.zero_grad(set_to_none=True)
        for p in params_d:
            p.requires_grad_(False)
        losses.append(loss_of_g(fake))
        losses[1].backward()
        for p in params_d:
            p.requires_grad_(True)
        adam_g.step()
        return [loss.detach() for loss in losses]

    if 'graph' in words:
        return bench_pytorch.captured(torch, step)
    for _ in range(3):
        losses = [float(loss) for loss in step()]
    assert all(0 < loss < 100 for loss in losses), losses
    return step


def time_steps(torch, o, step):
    times = []
    for _ in range(o.steps):
        begun = time.perf_counter()
        step()
        if o.device == 'cuda':
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(times)


def ratio(rows, a, b, what, limit=''):
    """Print the median over rounds of a / b."""
    print(f'  {what}: {statistics.median(x / y for x, y in zip(rows[a], rows[b])):.2f}{limit}', flush=True)


def report(rows):
    for name, times in rows.items():
        print(f'  {name:45s} min {min(times):9.2f}  median {statistics.median(times):9.2f}  max {max(times):9.2f} ms')
    ratio(rows, 'dcgan, gamma 1', 'dcgan, gamma 0', 'whole step, gamma 1 / gamma 0', ' (limit 1.25)')
    ratio(rows, "dcgan, gamma 1, D's step", "dcgan, gamma 0, D's step", "D's step, gamma 1 / gamma 0", ' (limit 1.5)')
    for gamma in (1, 0):
        modes = [name for name in rows if name.startswith('PyTorch') and name.endswith(f'gamma {gamma}')]
        if modes:
            best = min(modes, key=lambda name: statistics.median(rows[name]))
            ratio(rows, best, f'dcgan, gamma {gamma}', f'{best} / dcgan', ' (at least 2)' if gamma else '')


def one_model(o, name, folder):
    text = text_of(o, name, folder)
    program, steps = Program(o, text, folder), {}
    print(f'{name}, batch {o.batch}, {o.device}, {o.rounds} rounds of {o.steps} steps', flush=True)
    if not o.no_torch:
        import torch
        for mode in o.modes.split('/'):
            for gamma in (0, 1):
                label = f'PyTorch {torch.__version__} {mode}, gamma {gamma}'
                try:
                    steps[label] = torch_step(torch, o, text, mode.split(','), gamma)
                except Exception as error:  # torch.compile raises errors of many kinds
                    reason = str(error).strip().split('\n')[0]
                    print(f'  {label} failed: {type(error).__name__}: {reason}')
    rows = {}
    for _ in range(o.rounds):
        times = program.round()
        times.update({label: time_steps(torch, o, step) for label, step in steps.items()})
        for label, ms in times.items():
            rows.setdefault(label, []).append(ms)
    report(rows)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--models', default='dcgan64-paper-nonorm,dcgan-32x3-nonorm,bilinear-32x3,residual-32x3')
    p.add_argument('--batch', type=int, default=64)
    p.add_argument('--rounds', type=int, default=9)
    p.add_argument('--steps', type=int, default=3)
    p.add_argument('--modes', help='a list, / between modes; default: all')
    p.add_argument('--device', default='cpu', choices=['cpu', 'cuda'])
    p.add_argument('--program', default='./dcgan')
    p.add_argument('--no-torch', action='store_true', help='only dcgan with and without penalties')
    o = p.parse_args()
    o.modes = o.modes or MODES[o.device]
    wrong = set(o.modes.replace('/', ',').split(',')) - {'eager', 'fp32', 'channels_last', 'compile', 'graph'}
    if wrong:
        p.error(f'--modes {o.modes}: no such word: {wrong.pop()}')
    for name in o.models.split(','):
        with tempfile.TemporaryDirectory() as folder:
            one_model(o, name, folder)


if __name__ == '__main__':
    main()
