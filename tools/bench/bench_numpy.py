#!/usr/bin/env python3
"""The published way to train a DCGAN without a framework: NumPy, every convolution as im2col and a matrix product.

    tools/bench/bench_numpy.py [--width 32] [--batch 64] [--steps 3] [--seconds 0] [--cupy] [--float64] [--json FILE]
                           [--images CACHE] [--log FILE.csv]
    tools/bench/bench_numpy.py --oracle FILE.safetensors [--cupy]  compare with a recorded PyTorch run instead of timing

The same networks, losses, order of steps and Adam as `dcgan` (see host/net); one row: ms per step. With --cupy the same
code runs on the GPU. Runs --steps steps, but at least --seconds. Trains on noise, or on the images of a file that
`dcgan --cache` or `dcgan data --cache` wrote; --log writes the losses of every step as a run's log.csv, for `dcgan
curves`. --oracle checks that it is the same algorithm: the losses of every step must agree to 1e-9 in float64.
"""
import argparse
import json
import os
import statistics
import struct
import sys
import time

import numpy as np

xp = np  # or cupy


def im2col(x, K, S, P):
    """(N, H, W, C) -> (N, Ho, Wo, K*K*C)."""
    x = xp.pad(x, ((0, 0), (P, P), (P, P), (0, 0)))
    N, H, W, C = x.shape
    Ho, Wo = (H - K) // S + 1, (W - K) // S + 1
    n, h, w, c = x.strides
    view = xp.lib.stride_tricks.as_strided(x, (N, Ho, Wo, K, K, C), (n, S * h, S * w, h, w, c))
    return view.reshape(N, Ho, Wo, K * K * C)


def col2im(cols, shape, K, S, P):
    """The adjoint of im2col."""
    N, H, W, C = shape
    Ho, Wo = cols.shape[1:3]
    cols = cols.reshape(N, Ho, Wo, K, K, C)
    x = xp.zeros((N, H + 2 * P, W + 2 * P, C), cols.dtype)
    for ky in range(K):
        for kx in range(K):
            x[:, ky:ky + S * Ho:S, kx:kx + S * Wo:S] += cols[:, :, :, ky, kx]
    return x[:, P:P + H, P:P + W]


def rows_times(x, w):
    """x @ w over the last axis as one matrix product; NumPy's own @ would make a small one per image row."""
    return (x.reshape(-1, x.shape[-1]) @ w).reshape(*x.shape[:-1], w.shape[1])


class Conv:
    """A convolution, or with transposed=True its adjoint. w: (K*K*C of the larger side, C of the smaller)."""

    def __init__(self, big, small, K, S, P, transposed, dtype):
        self.geometry, self.transposed, self.big = (K, S, P), transposed, big
        self.w = (0.02 * np.random.default_rng(big * 1000 + small).standard_normal((K * K * big, small))).astype(dtype)
        self.w = xp.asarray(self.w)
        self.params = ['w']

    def forward(self, x):
        K, S, P = self.geometry
        self.x = x
        if not self.transposed:
            self.shape, self.cols = x.shape, im2col(x, K, S, P)
            return rows_times(self.cols, self.w)
        N, H, W, _ = x.shape
        out = (N, (H - 1) * S + K - 2 * P, (W - 1) * S + K - 2 * P, self.big)
        return col2im(rows_times(x, self.w.T), out, K, S, P)

    def backward(self, dy, weights=True, inputs=True):
        K, S, P = self.geometry
        if self.transposed:
            cols = im2col(dy, K, S, P)
            if weights:
                self.dw = cols.reshape(-1, cols.shape[3]).T @ self.x.reshape(-1, self.x.shape[3])
            return rows_times(cols, self.w) if inputs else None
        if weights:
            self.dw = self.cols.reshape(-1, self.cols.shape[3]).T @ dy.reshape(-1, dy.shape[3])
        return col2im(rows_times(dy, self.w.T), self.shape, K, S, P) if inputs else None


class Norm:
    """Batch norm in training mode."""

    def __init__(self, C, dtype):
        self.gamma, self.beta = xp.ones(C, dtype), xp.zeros(C, dtype)
        self.params = ['gamma', 'beta']

    def forward(self, x):
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        self.rstd = 1 / xp.sqrt(var + 1e-5)
        self.xhat = (x - mean) * self.rstd
        return self.gamma * self.xhat + self.beta

    def backward(self, dy, weights=True, inputs=True):
        n = dy.size // dy.shape[3]
        dbeta, dgamma = dy.sum((0, 1, 2)), (dy * self.xhat).sum((0, 1, 2))
        if weights:
            self.dbeta, self.dgamma = dbeta, dgamma
        return self.gamma * self.rstd * (dy - dbeta / n - self.xhat * (dgamma / n))


class Leaky:
    params = []

    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.factor = xp.where(x > 0, 1, self.slope).astype(x.dtype)
        return x * self.factor

    def backward(self, dy, weights=True, inputs=True):
        return dy * self.factor


class Tanh:
    params = []

    def forward(self, x):
        self.y = xp.tanh(x)
        return self.y

    def backward(self, dy, weights=True, inputs=True):
        return dy * (1 - self.y * self.y)


def networks(size, channels, latent, ngf, ndf, dtype):
    depth = size.bit_length() - 4
    c = ngf << depth
    g = [Conv(c, latent, 4, 1, 0, True, dtype), Norm(c, dtype), Leaky(0)]
    for _ in range(depth):
        g += [Conv(c // 2, c, 4, 2, 1, True, dtype), Norm(c // 2, dtype), Leaky(0)]
        c //= 2
    g += [Conv(channels, c, 4, 2, 1, True, dtype), Tanh()]
    c = ndf
    d = [Conv(channels, c, 4, 2, 1, False, dtype), Leaky(0.2)]
    for _ in range(depth):
        d += [Conv(c, 2 * c, 4, 2, 1, False, dtype), Norm(2 * c, dtype), Leaky(0.2)]
        c *= 2
    return g, d + [Conv(c, 1, 4, 1, 0, False, dtype)]


def forward(net, x):
    for layer in net:
        x = layer.forward(x)
    return x


def backward(net, dy, weights=True, inputs=True):
    """Returns the input's gradient; stores weight gradients in the layers, unless weights is False."""
    for i, layer in reversed(list(enumerate(net))):
        dy = layer.backward(dy, weights, inputs or i > 0)
    return dy


def bce(logit, target):
    loss = xp.maximum(logit, 0) - logit * target + xp.log1p(xp.exp(-xp.abs(logit)))
    return float(loss.mean()), (1 / (1 + xp.exp(-logit)) - target) / logit.size


def gradients(net):
    return [getattr(layer, 'd' + name).copy() for layer in net for name in layer.params]


class Adam:
    def __init__(self, net, lr, beta1, beta2, eps):
        self.net, self.lr, self.b1, self.b2, self.eps = net, lr, beta1, beta2, eps
        self.t, self.m, self.v = 0, None, None

    def step(self, grads):
        self.t += 1
        self.m = self.m or [xp.zeros_like(g) for g in grads]
        self.v = self.v or [xp.zeros_like(g) for g in grads]
        slots = [(layer, name) for layer in self.net for name in layer.params]
        for i, (layer, name) in enumerate(slots):
            self.m[i] += (1 - self.b1) * (grads[i] - self.m[i])
            self.v[i] = self.b2 * self.v[i] + (1 - self.b2) * grads[i] * grads[i]
            denominator = xp.sqrt(self.v[i]) / (1 - self.b2 ** self.t) ** 0.5 + self.eps
            setattr(layer, name, getattr(layer, name) - self.lr / (1 - self.b1 ** self.t) * self.m[i] / denominator)


def train_step(G, D, adam_g, adam_d, real, z):
    loss_real, dy = bce(forward(D, real), 1.0)
    backward(D, dy, inputs=False)
    grads = gradients(D)
    fake = forward(G, z)
    loss_fake, dy = bce(forward(D, fake), 0.0)
    backward(D, dy, inputs=False)
    adam_d.step([a + b for a, b in zip(grads, gradients(D))])
    loss_g, dy = bce(forward(D, fake), 1.0)
    backward(G, backward(D, dy, weights=False), inputs=False)
    adam_g.step(gradients(G))
    return loss_real, loss_fake, loss_g


def read_safetensors(path):
    with open(path, 'rb') as file:
        n = struct.unpack('<Q', file.read(8))[0]
        header, data = json.loads(file.read(n)), file.read()
    meta = header.pop('__metadata__')
    kinds = {'F64': 'f8', 'F32': 'f4', 'I64': 'i8', 'U8': 'u1'}
    return meta, {k: np.frombuffer(data[slice(*v['data_offsets'])], kinds[v['dtype']]).reshape(v['shape'])
                  for k, v in header.items()}


def load_weights(net, tensors, prefix):
    index = -1
    for layer in net:
        index += 1
        if isinstance(layer, Conv):
            w = tensors[f'{prefix}main.{index}.weight'].astype('f8')  # (small, big, K, K)
            layer.w = xp.asarray(w.transpose(2, 3, 1, 0).reshape(layer.w.shape))
        elif isinstance(layer, Norm):
            layer.gamma, layer.beta = (xp.asarray(tensors[f'{prefix}main.{index}.{n}'].astype('f8'))
                                       for n in ('weight', 'bias'))


def replay(path):
    meta, t = read_safetensors(path)
    size, channels, latent, ngf, ndf = (int(meta[k]) for k in ('size', 'channels', 'latent', 'ngf', 'ndf'))
    G, D = networks(size, channels, latent, ngf, ndf, 'f8')
    load_weights(G, t, 'init.G.'), load_weights(D, t, 'init.D.')
    adam = [Adam(net, *(float(meta[k]) for k in ('lr', 'beta1', 'beta2', 'eps'))) for net in (G, D)]
    worst = 0.0
    for s in range(int(meta['steps'])):
        rows = t['index'][s][t['index'][s] >= 0]
        real = t['images'][rows].transpose(0, 2, 3, 1) / 127.5 - 1
        z = t['z'][s, :len(rows)][:, None, None, :]
        losses = train_step(G, D, *adam, xp.asarray(real), xp.asarray(z))
        for name, ours in zip(('loss_d_real', 'loss_d_fake', 'loss_g'), losses):
            theirs = t['expect.' + name][s]
            worst = max(worst, abs(ours - theirs) / abs(theirs))
    print(f'{path}: {meta["steps"]} steps, losses differ by at most {worst:.2e}')
    return 0 if worst <= 1e-9 else 1


def read_cache(path):
    """The images of a `dcgan --cache` file as (N, S, S, C) bytes; host/data/dataset_cache.c describes its head."""
    head = '=16sIIQQQiiii'
    with open(path, 'rb') as file:
        magic, order, _, _, lists, _, count, size, channels, _ = struct.unpack(head, file.read(struct.calcsize(head)))
        if magic.rstrip(b'\0') != b'dcgan-cache-1\n' or order != 0x01020304:
            sys.exit(f'{path}: not a cache of images written by this machine')
        file.seek(lists, os.SEEK_CUR)
        return np.frombuffer(file.read(count * size * size * channels), 'u1').reshape(count, size, size, channels)


def batches(o, dtype, rng):
    """Images for each step, endlessly; a short last batch of an epoch is left out."""
    if not o.images:
        real = xp.asarray((rng.random((o.batch, 64, 64, 3)) * 2 - 1).astype(dtype))
        while True:
            yield 1, real
    images, epoch = read_cache(o.images), 0
    if len(images) < o.batch:
        sys.exit(f'{o.images}: too few images ({len(images)}) for batch size {o.batch}')
    while True:
        epoch, order = epoch + 1, rng.permutation(len(images))
        for first in range(0, len(order) - o.batch + 1, o.batch):
            yield epoch, xp.asarray((images[order[first:first + o.batch]] / 127.5 - 1).astype(dtype))


def wait():
    """Waits for the GPU."""
    if xp is not np:
        xp.cuda.get_current_stream().synchronize()


def run(o):
    dtype = 'f8' if o.float64 else 'f4'
    rng = np.random.default_rng(0)
    source = batches(o, dtype, rng)
    epoch, real = next(source)
    G, D = networks(real.shape[1], real.shape[3], 100, o.width, o.width, dtype)
    adam = [Adam(net, 2e-4, 0.5, 0.999, 1e-8) for net in (G, D)]
    warm, times, log, begun = 3 if o.cupy else 1, [], [], time.perf_counter()
    while len(times) < warm + o.steps or time.perf_counter() - begun < o.seconds:
        z = xp.asarray(rng.standard_normal((o.batch, 1, 1, 100)).astype(dtype))
        wait()
        start = time.perf_counter()
        losses = train_step(G, D, *adam, real, z)
        wait()
        times.append(time.perf_counter() - start)
        if not np.isfinite(losses).all():
            sys.exit(f'step {len(times)}: the losses are {losses}')
        log.append((epoch, len(times), losses[0] + losses[1], *losses, '', '', '', o.batch / times[-1],
                    time.perf_counter() - begun))
        epoch, real = next(source)
    return dtype, [1e3 * t for t in times[warm:]], log


def main():
    global xp
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--width', type=int, default=32)
    p.add_argument('--batch', type=int, default=64)
    p.add_argument('--steps', type=int, default=3)
    p.add_argument('--seconds', type=float, default=0)
    p.add_argument('--cupy', action='store_true')
    p.add_argument('--float64', action='store_true')
    p.add_argument('--images')
    p.add_argument('--oracle')
    p.add_argument('--json')
    p.add_argument('--log')
    o = p.parse_args()
    if o.cupy:
        import cupy
        xp = cupy
    if o.oracle:
        return replay(o.oracle)
    dtype, times, log = run(o)
    name, best, median = 'CuPy' if o.cupy else 'NumPy', min(times), statistics.median(times)
    print(f'{name} {xp.__version__} {dtype} im2col, width {o.width}, batch {o.batch}: median {median:.1f} ms, '
          f'best {best:.1f} ms of {len(times)} steps')
    if o.log:
        with open(o.log, 'w') as file:
            file.write('epoch,step,loss_d,loss_d_real,loss_d_fake,loss_g,d_x,d_gz1,d_gz2,img_s,seconds\n')
            file.writelines(','.join(v if isinstance(v, str) else f'{v:.9g}' for v in row) + '\n' for row in log)
    if o.json:
        with open(o.json, 'w') as file:
            json.dump({'name': name, 'version': xp.__version__, 'dtype': dtype, 'width': o.width, 'batch': o.batch,
                       'best_ms': best, 'median_ms': median, 'steps': len(times)}, file, indent=1)
    return 0


if __name__ == '__main__':
    sys.exit(main())
