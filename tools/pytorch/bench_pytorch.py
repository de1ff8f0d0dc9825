#!/usr/bin/env python3
"""Time PyTorch's DCGAN training step (the stock example's loop and networks) in every mode that can be fast.

    tools/pytorch/bench_pytorch.py [--device cpu|cuda] [--size 64] [--width 32] [--batch 64] [--seconds 8] [--limit 0]
                             [--budget 0] [--modes A/B] [--json FILE] [--classifier MODEL.cfg]

One row per mode, each in its own process: median and best ms per step. width is ngf = ndf: width 32 with batch size 64
is the workload W1, 64 with 128 is W2, size 128 with width 64 and batch size 64 is W3. With --classifier, the step is
that of the classifier in a model file, with its optimizer, on random images. A mode is a list of words:

    stock           the example as it is: contiguous, tf32 where PyTorch's defaults have it, losses read every step
    fp32            no tf32          tf32  everywhere          bf16  autocast
    channels_last   NHWC             compile  torch.compile of both networks
    graph           the whole step, with both of Adam's, as one CUDA graph

All but stock differ from the example in PyTorch's favour: no losses are read back, no gradients of D are kept in G's
step, Adam is fused. The fastest row is the reference for dcgan. CPU: all cores of the affinity mask, denormals flushed,
oneDNN on. CUDA: times between events on the stream, without waiting in between, so that the host runs ahead as in
training. Nothing is downloaded.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings

MODES = {
    'cpu': ['eager', 'eager,channels_last', 'compile', 'compile,channels_last', 'bf16,channels_last',
            'bf16,compile,channels_last'],
    'cuda': ['stock', 'bf16,channels_last,graph', 'tf32,channels_last,graph', 'fp32,graph',
             'bf16,channels_last,compile,graph', 'bf16,channels_last', 'tf32,channels_last',
             'bf16,channels_last,compile', 'fp32'],
}
WORDS = {'stock', 'eager', 'fp32', 'tf32', 'bf16', 'channels_last', 'compile', 'graph'}


def networks(nn, size, width):
    depth = size.bit_length() - 4  # halvings between size / 2 and 4
    c = width << depth
    g = [nn.ConvTranspose2d(100, c, 4, 1, 0, bias=False), nn.BatchNorm2d(c), nn.ReLU(True)]
    for _ in range(depth):
        g += [nn.ConvTranspose2d(c, c // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(c // 2), nn.ReLU(True)]
        c //= 2
    g += [nn.ConvTranspose2d(c, 3, 4, 2, 1, bias=False), nn.Tanh()]
    c = width
    d = [nn.Conv2d(3, c, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)]
    for _ in range(depth):
        d += [nn.Conv2d(c, c * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(c * 2), nn.LeakyReLU(0.2, True)]
        c *= 2
    return nn.Sequential(*g), nn.Sequential(*d, nn.Conv2d(c, 1, 4, 1, 0, bias=False))


def set_up(torch, o, words):
    """The switches of the whole process."""
    torch.manual_seed(0)
    if o.device == 'cpu':
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        torch.set_flush_denormal(True)
        return
    torch.backends.cudnn.benchmark = True
    if 'stock' not in words:  # these two and not the newer fp32_precision: torch.compile has refused a mixture of both
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = 'fp32' not in words


def make_step(torch, o, words):
    """The training step as a function without arguments."""
    nn, device, stock = torch.nn, torch.device(o.device), 'stock' in words
    G, D = networks(nn, o.size, o.width)
    layout = torch.channels_last if 'channels_last' in words else torch.contiguous_format
    G, D = (net.to(device, memory_format=layout) for net in (G, D))
    for module in [*G.modules(), *D.modules()]:
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.normal_(module.weight, 0, 0.02)
    real = (torch.rand(o.batch, 3, o.size, o.size) * 2 - 1).to(device).contiguous(memory_format=layout)
    params_d = list(D.parameters())
    extra = {} if stock or o.device == 'cpu' else {'fused': True}
    if 'graph' in words:
        extra['capturable'] = True  # its step counter is on the device
    opt_g = torch.optim.Adam(G.parameters(), 2e-4, (0.5, 0.999), **extra)
    opt_d = torch.optim.Adam(params_d, 2e-4, (0.5, 0.999), **extra)
    bce = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(o.batch, device=device), torch.zeros(o.batch, device=device)
    run_g, run_d = (torch.compile(G), torch.compile(D)) if 'compile' in words else (G, D)

    def run(net, x):
        with torch.autocast(o.device, dtype=torch.bfloat16, enabled='bf16' in words):
            return net(x)

    def score(x, target):
        loss = bce(run(run_d, x).float().view(-1), target)
        loss.backward()
        return loss

    def step():
        opt_d.zero_grad(set_to_none=True)  # in a graph: backward then writes into the graph's memory, it does not add
        losses = [score(real, ones)]
        fake = run(run_g, torch.randn(o.batch, 100, 1, 1, device=device))
        losses.append(score(fake.detach(), zeros))
        opt_d.step()
        opt_g.zero_grad(set_to_none=True)
        for p in params_d:
            p.requires_grad_(stock)
        losses.append(score(fake, ones))
        for p in params_d:
            p.requires_grad_(True)
        opt_g.step()
        if stock:
            return [loss.item() for loss in losses]
        return [loss.detach() for loss in losses]

    return step, params_d


def make_classifier_step(torch, o, words):
    """Like make_step for a classifier of dcgan, with random images and classes. Dropout masks are PyTorch's own, because
    torch_model computes those of dcgan on the host."""
    import torch_model
    F, device = torch.nn.functional, torch.device(o.device)
    torch_model.dropout_mask = lambda shape, p, *_: torch.rand(shape, device=device) >= p
    with open(o.classifier) as file:
        net = torch_model.Classifier(file.read())
    layout = torch.channels_last if 'channels_last' in words else torch.contiguous_format
    net = net.to(device, memory_format=layout)
    images = torch.rand(o.batch, net.channels, *net.size).to(device).contiguous(memory_format=layout)
    classes = torch.randint(net.classes, (o.batch,), device=device)
    optimizer = torch_model.optimizer(net)
    for group in optimizer.param_groups if 'graph' in words else []:
        group['capturable'] = 'capturable' in group
    run = torch.compile(net) if 'compile' in words else net

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(o.device, dtype=torch.bfloat16, enabled='bf16' in words):
            logits = run(images)
        loss = F.cross_entropy(logits.float(), classes)
        loss.backward()
        optimizer.step()
        return [loss.item() if 'stock' in words else loss.detach()]

    return step, list(net.parameters())


def captured(torch, step):
    """The step as one graph. All warm-up is on a side stream, so that autograd ties nothing to the default stream. Also
    returns the tensors that only the step refers to (images, targets, G), because the graph reads them."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(11):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        losses = step()

    def replay():
        graph.replay()
        return losses

    replay.step = step
    return replay


def time_on_host(step, seconds):
    times, begun = [], time.perf_counter()
    while len(times) < 10 or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        losses = step()
        times.append(1e3 * (time.perf_counter() - start))
    return times, losses


def time_by_events(torch, step, seconds):
    """Events between steps; the host waits once per block, and a block's first step is not counted."""
    times, block, begun = [], 64, time.perf_counter()
    while len(times) < 10 or time.perf_counter() - begun < seconds:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(block + 2)]
        events[0].record()
        for event in events[1:]:
            losses = step()
            event.record()
        events[-1].synchronize()
        times += [a.elapsed_time(b) for a, b in zip(events[1:], events[2:])]
    return times, losses


def one_mode(o, mode):
    """One row: milliseconds of a step in this mode."""
    import torch
    words = mode.split(',')
    set_up(torch, o, words)
    step, params_d = (make_classifier_step if o.classifier else make_step)(torch, o, words)
    if 'graph' in words:
        step = captured(torch, step)
    for _ in range(5):
        step()
    before = [p.detach().clone() for p in params_d]
    times, losses = time_by_events(torch, step, o.seconds) if o.device == 'cuda' else time_on_host(step, o.seconds)
    losses = [float(loss) for loss in losses]
    if not all(0 <= loss < 100 for loss in losses):
        raise RuntimeError(f'the losses are {losses}: this does not train, so its time means nothing')
    if any(torch.equal(a, b) for a, b in zip(before, params_d)):
        raise RuntimeError('some weights did not change: this does not train, so its time means nothing')
    name = torch.cuda.get_device_name() if o.device == 'cuda' else 'cpu'
    return {'torch': torch.__version__, 'device': name, 'median_ms': statistics.median(times), 'best_ms': min(times),
            'steps': len(times)}


def in_own_process(o, mode):
    """The row of this mode, with `failed` and the reason if it has no times."""
    command = [sys.executable, __file__, '--one', mode]
    for name in ('device', 'size', 'width', 'batch', 'seconds', 'classifier'):
        if getattr(o, name) is not None:
            command += ['--' + name, str(getattr(o, name))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=o.limit or None)
    except subprocess.TimeoutExpired:
        return {'mode': mode, 'failed': f'not finished within {o.limit:g} s'}
    if done.returncode:
        reason = [line for line in done.stderr.splitlines() if line.strip()] or [f'exit code {done.returncode}']
        errors = [line for line in reason if 'Error' in line.split(':')[0]]
        return {'mode': mode, 'failed': (errors or reason)[-1].strip()[:300]}
    return {'mode': mode, **json.loads(done.stdout.strip().splitlines()[-1])}


def save(o, rows):
    if not o.json:
        return
    with open(o.json + '.tmp', 'w') as file:
        json.dump({'device': o.device, 'size': o.size, 'width': o.width, 'batch': o.batch, 'rows': rows}, file,
                  indent=1)
    os.replace(o.json + '.tmp', o.json)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--device', default='cpu', choices=['cpu', 'cuda'])
    p.add_argument('--size', type=int, default=64)
    p.add_argument('--width', type=int, default=32)
    p.add_argument('--batch', type=int, default=64)
    p.add_argument('--seconds', type=float, default=8, help='how long each mode is timed')
    p.add_argument('--limit', type=float, default=0, help='seconds for all of a mode, compilation included; 0: none')
    p.add_argument('--budget', type=float, default=0, help='seconds after which no other mode is begun; 0: none')
    p.add_argument('--modes', help='a list, / between modes; default: all')
    p.add_argument('--json', help='write all rows to this file, again after each mode')
    p.add_argument('--classifier', metavar='MODEL.cfg', help='a classifier of dcgan instead of the DCGAN')
    p.add_argument('--one', help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.size < 16 or o.size & o.size - 1:
        p.error('--size: a power of two from 16')
    modes = o.modes.split('/') if o.modes else MODES[o.device]
    for mode in [o.one] if o.one else modes:
        wrong = set(mode.split(',')) - WORDS
        if wrong or ('graph' in mode and o.device == 'cpu'):
            why = f'no such word: {wrong.pop()}' if wrong else 'CUDA graphs are for --device cuda'
            p.error(f'--modes {mode}: {why}')
    if o.one:
        print(json.dumps(one_mode(o, o.one)))
        return 0
    rows, begun = [], time.monotonic()
    for mode in modes:
        late = o.budget and time.monotonic() - begun > o.budget
        row = {'mode': mode, 'failed': 'not tried: no time left'} if late else in_own_process(o, mode)
        rows.append(row)
        if 'failed' in row:
            print(f"PyTorch {mode:36s} failed: {row['failed']}", flush=True)
        else:
            print(f"PyTorch {row['torch']} {mode:36s} median {row['median_ms']:9.3f} ms, "
                  f"best {row['best_ms']:9.3f} ms, {row['steps']} steps", flush=True)
        save(o, rows)
    return 0 if any('failed' not in row for row in rows) else 1


if __name__ == '__main__':
    sys.exit(main())
