#!/usr/bin/env python3
"""Checks that PyTorch and dcgan read each other's files and generate the same images.

    tools/pytorch/check_torch.py CHECKPOINT [--dcgan ./dcgan]

Exports the generator, loads it with load_state_dict(strict=True) into the generator of PyTorch's DCGAN example, and
compares its images with those of `dcgan generate` for the same latents. Loads the discriminator from the checkpoint the
same way. Saves the generator from PyTorch, imports it, and compares every value. Needs torch, numpy and Pillow; uses
the module safetensors if present. Exit code: 0 equal, 1 not, 77 no torch.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from PIL import Image
    from torch import nn
except ImportError as missing:
    print(f'SKIP: {missing}')
    sys.exit(77)

try:
    from safetensors.torch import load_file, save_file
except ImportError:
    TYPES = {'F32': '<f4', 'F64': '<f8', 'I64': '<i8'}

    def load_file(path):
        with open(path, 'rb') as file:
            data = file.read()
        length = struct.unpack('<Q', data[:8])[0]
        header, out = json.loads(data[8:8 + length]), {}
        header.pop('__metadata__', None)
        for name, t in header.items():
            begin, end = (8 + length + x for x in t['data_offsets'])
            out[name] = torch.from_numpy(np.frombuffer(data[begin:end], TYPES[t['dtype']]).reshape(t['shape']).copy())
        return out

    def save_file(tensors, path):
        header, blobs, at = {}, [], 0
        for name, t in tensors.items():
            a = np.ascontiguousarray(t.numpy())
            code = {np.dtype(v).name: k for k, v in TYPES.items()}[a.dtype.name]
            header[name] = {'dtype': code, 'shape': list(t.shape), 'data_offsets': [at, at + a.nbytes]}
            blobs.append(a.tobytes())
            at += a.nbytes
        text = json.dumps(header).encode()
        with open(path, 'wb') as file:
            file.write(struct.pack('<Q', len(text)) + text + b''.join(blobs))


class Generator(nn.Module):
    """examples/dcgan/main.py of pytorch/examples, for any number of layers."""

    def __init__(self, widths, nz, nc):
        super().__init__()
        layers = [nn.ConvTranspose2d(nz, widths[0], 4, 1, 0, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(True)]
        for a, b in zip(widths, widths[1:]):
            layers += [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True)]
        layers += [nn.ConvTranspose2d(widths[-1], nc, 4, 2, 1, bias=False), nn.Tanh()]
        self.main = nn.Sequential(*layers)

    def forward(self, x):
        return self.main(x)


class Discriminator(nn.Module):
    def __init__(self, widths, nc):
        super().__init__()
        layers = [nn.Conv2d(nc, widths[0], 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
        for a, b in zip(widths, widths[1:]):
            layers += [nn.Conv2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.LeakyReLU(0.2, inplace=True)]
        layers += [nn.Conv2d(widths[-1], 1, 4, 1, 0, bias=False), nn.Sigmoid()]
        self.main = nn.Sequential(*layers)


def normals(seed, stream, step, n):
    """The random numbers of core/base/rng.h: Philox4x32-10 and Box-Muller."""
    blocks = np.arange((n + 3) // 4, dtype=np.uint64)
    subsequence = (stream << 56) | step
    low = np.uint64(0xffffffff)
    c = [blocks & low, blocks >> np.uint64(32), np.full_like(blocks, subsequence & 0xffffffff),
         np.full_like(blocks, subsequence >> 32)]
    k0, k1 = seed & 0xffffffff, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & low,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xffffffff, (k1 + 0xBB67AE85) & 0xffffffff
    words = [w.astype(np.float32).astype(np.float64) for w in c]
    out = np.empty((len(blocks), 4))
    for i in (0, 2):
        s = np.sqrt(-2 * np.log((words[i] + 0.5) * 2.0**-32))
        angle = (words[i + 1] + 0.5) * (2.0**-32 * 2 * np.pi)
        out[:, i], out[:, i + 1] = s * np.sin(angle), s * np.cos(angle)
    return out.reshape(-1)[:n].astype(np.float32)


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('checkpoint')
    p.add_argument('--dcgan', default='./dcgan')
    p.add_argument('--images', type=int, default=8)
    o = p.parse_args()
    failed = 0

    def check(ok, what):
        nonlocal failed
        failed += not ok
        print(('ok    ' if ok else 'FAIL  ') + what)

    def dcgan(*arguments):
        return subprocess.run([o.dcgan, *arguments], check=True, stdout=subprocess.PIPE).stdout

    with tempfile.TemporaryDirectory() as folder:
        exported, back = os.path.join(folder, 'g.safetensors'), os.path.join(folder, 'torch.safetensors')
        dcgan('export', o.checkpoint, '--out', exported)
        g = load_file(exported)
        convs = sorted((int(n.split('.')[1]), t.shape) for n, t in g.items() if t.dim() == 4)
        netG = Generator([s[1] for _, s in convs[:-1]], convs[0][1][0], convs[-1][1][1])
        netG.load_state_dict(g, strict=True)
        check(all(t.dtype == torch.float32 for n, t in g.items() if 'num_batches' not in n),
              'the generator loads, strict')

        info = json.loads(dcgan('info', '--json', o.checkpoint))
        whole = load_file(o.checkpoint)
        d = {n[2:]: t for n, t in whole.items() if n.startswith('D.')}
        if d:
            convs = sorted((int(n.split('.')[1]), t.shape) for n, t in d.items() if t.dim() == 4)
            netD = Discriminator([s[0] for _, s in convs[:-1]], convs[0][1][1])
            netD.load_state_dict(d, strict=True)
            steps = int(info['step'])
            check(all(int(t) == 3 * steps for n, t in d.items() if 'num_batches' in n),
                  'the discriminator loads, strict')

        dcgan('generate', o.checkpoint, '--seeds', f'1-{o.images}', '--out', os.path.join(folder, 'images'),
              '--quiet')
        nz, nc = netG.main[0].in_channels, netG.main[-2].out_channels
        z = np.stack([normals(int(info['seed']), 4, i, nz) for i in range(1, o.images + 1)])
        netG.eval()
        with torch.no_grad():
            x = netG(torch.from_numpy(z)[:, :, None, None]).double().numpy()
        expected = np.clip(np.floor((x + 1) * 127.5 + 0.5), 0, 255).transpose(0, 2, 3, 1)
        names = [os.path.join(folder, 'images', f'seed-{i:04d}.png') for i in range(1, o.images + 1)]
        got = np.stack([np.asarray(Image.open(n)).reshape(expected[0].shape) for n in names]).astype(float)
        off = np.abs(got - expected)
        check(off.max() <= 1 and (off == 0).mean() > 0.999 and got.std() > 0,
              f'the same images: {(off > 0).sum()} of {off.size} values differ, by at most {off.max():.0f}')

        save_file({n: t.contiguous() for n, t in netG.state_dict().items()}, back)
        dcgan('import', back, '--out', os.path.join(folder, 'i.safetensors'))
        dcgan('export', os.path.join(folder, 'i.safetensors'), '--out', os.path.join(folder, 'again.safetensors'))
        again = load_file(os.path.join(folder, 'again.safetensors'))
        check(again.keys() == g.keys() and all(torch.equal(again[n], g[n]) for n in g if 'num_batches' not in n),
              'saved by PyTorch, imported and exported: every value is the same')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
