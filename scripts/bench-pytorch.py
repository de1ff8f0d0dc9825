#!/usr/bin/env python3
"""Time PyTorch's DCGAN training step (the stock example's loop and networks) in every mode that can be fast.

    scripts/bench-pytorch.py [--device cpu|cuda] [--width 32] [--batch 64] [--seconds 8] [--json FILE] [--modes A,B]

One row a mode, each in a process of its own: median and best ms per step. The fastest fp32 row is the peer that
`scripts/bench-cpu` compares us with; bf16 is a row of its own. CPU: all cores of the affinity mask, denormals
flushed, oneDNN on. width is ngf = ndf: 32 with batch 64 is the workload W1, 64 with 128 is W2. The loop differs
from the example's in PyTorch's favour: no losses are read back and no gradients of D are kept in G's step.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

MODES = {
    'cpu': ['eager', 'eager,channels_last', 'compile', 'compile,channels_last', 'bf16,channels_last', 'bf16,compile,channels_last'],
    'cuda': ['eager', 'tf32,channels_last', 'bf16,channels_last', 'tf32,compile,channels_last', 'bf16,compile,channels_last',
             'tf32,channels_last,graph', 'bf16,channels_last,graph'],
}


def networks(nn, width):
    c = width * 8
    g = [nn.ConvTranspose2d(100, c, 4, 1, 0, bias=False), nn.BatchNorm2d(c), nn.ReLU(True)]
    for _ in range(3):
        g += [nn.ConvTranspose2d(c, c // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(c // 2), nn.ReLU(True)]
        c //= 2
    g += [nn.ConvTranspose2d(c, 3, 4, 2, 1, bias=False), nn.Tanh()]
    c = width
    d = [nn.Conv2d(3, c, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)]
    for _ in range(3):
        d += [nn.Conv2d(c, c * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(c * 2), nn.LeakyReLU(0.2, True)]
        c *= 2
    return nn.Sequential(*g), nn.Sequential(*d, nn.Conv2d(c, 1, 4, 1, 0, bias=False))


def one_mode(o, mode):
    """Milliseconds of each timed step in this mode."""
    import torch
    from torch import nn
    flags = mode.split(',')
    device = torch.device(o.device)
    torch.manual_seed(0)
    if o.device == 'cpu':
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        torch.set_flush_denormal(True)
    else:
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = 'eager' not in flags
    G, D = networks(nn, o.width)
    real = torch.rand(o.batch, 3, 64, 64) * 2 - 1
    layout = torch.channels_last if 'channels_last' in flags else torch.contiguous_format
    G, D = (net.to(device, memory_format=layout) for net in (G, D))
    real = real.to(device).contiguous(memory_format=layout)
    for module in [*G.modules(), *D.modules()]:
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.normal_(module.weight, 0, 0.02)
    params_d = list(D.parameters())
    extra = {'capturable': True} if 'graph' in flags else {}
    opt_g = torch.optim.Adam(G.parameters(), 2e-4, (0.5, 0.999), **extra)
    opt_d = torch.optim.Adam(params_d, 2e-4, (0.5, 0.999), **extra)
    bce = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(o.batch, device=device), torch.zeros(o.batch, device=device)
    if 'compile' in flags:
        G, D = torch.compile(G), torch.compile(D)

    def run(net, x):
        with torch.autocast(o.device, dtype=torch.bfloat16, enabled='bf16' in flags):
            return net(x)

    def step():
        opt_d.zero_grad()
        bce(run(D, real).float().view(-1), ones).backward()
        fake = run(G, torch.randn(o.batch, 100, 1, 1, device=device))
        bce(run(D, fake.detach()).float().view(-1), zeros).backward()
        opt_d.step()
        opt_g.zero_grad()
        for p in params_d:
            p.requires_grad_(False)
        bce(run(D, fake).float().view(-1), ones).backward()
        for p in params_d:
            p.requires_grad_(True)
        opt_g.step()

    def finish():
        if o.device == 'cuda':
            torch.cuda.synchronize()

    for _ in range(5):
        step()
    finish()
    if 'graph' in flags:
        graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph):
            step()
        step = graph.replay  # noqa: F811
    times, begun = [], time.perf_counter()
    while len(times) < 10 or time.perf_counter() - begun < o.seconds:
        start = time.perf_counter()
        step()
        finish()
        times.append(1e3 * (time.perf_counter() - start))
    return {'torch': torch.__version__, 'median_ms': statistics.median(times), 'best_ms': min(times), 'steps': len(times)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--device', default='cpu', choices=['cpu', 'cuda'])
    p.add_argument('--width', type=int, default=32)
    p.add_argument('--batch', type=int, default=64)
    p.add_argument('--seconds', type=float, default=8, help='how long each mode is timed')
    p.add_argument('--modes', help='a list, / between modes; default: all')
    p.add_argument('--json', help='write all rows to this file')
    p.add_argument('--one', help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.one:
        print(json.dumps(one_mode(o, o.one)))
        return 0
    rows = []
    for mode in o.modes.split('/') if o.modes else MODES[o.device]:
        command = [sys.executable, __file__, '--one', mode, '--device', o.device, '--width', str(o.width), '--batch', str(o.batch), '--seconds', str(o.seconds)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ['no message'])[-1]
            print(f'PyTorch {mode:32s} failed: {reason[:120]}', flush=True)
            continue
        row = {'mode': mode, **json.loads(done.stdout.strip().splitlines()[-1])}
        rows.append(row)
        print(f"PyTorch {row['torch']} {mode:30s} median {row['median_ms']:9.2f} ms, best {row['best_ms']:9.2f} ms, {row['steps']} steps", flush=True)
    if o.json:
        with open(o.json, 'w') as file:
            json.dump({'device': o.device, 'width': o.width, 'batch': o.batch, 'rows': rows}, file, indent=1)
    return 0 if rows else 1


if __name__ == '__main__':
    sys.exit(main())
