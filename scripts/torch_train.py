#!/usr/bin/env python3
"""A classifier's model file, trained or timed by PyTorch: the other side of scripts/paper-tables.

    scripts/torch_train.py train MODEL DATA EPOCHS SEED   DATA: train/ and test/ of class folders of pictures; the
                                                          decoded pictures are kept beside them, train-SIZE.npz;
                                                          or MNIST's files, compressed by gzip
    scripts/torch_train.py time MODEL STEPS               on pictures of noise that lie in memory

Prints JSON: test accuracy and seconds of each epoch; or the median and best milliseconds of a step. The network and its
optimiser are scripts/torch_model.py. All cores, denormals flushed, fp32, channels_last where that is what oneDNN likes:
`time` takes the faster of the two layouts.
"""
import gzip
import json
import math
import os
import statistics
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

import torch_model


def network(path, seed):
    with open(path) as file:
        net = torch_model.Classifier(file.read())
    torch.manual_seed(seed)
    o = net.train_options
    for p in net.parameters():
        if p.dim() == 1:
            torch.nn.init.zeros_(p)
        elif o.get('start') == 'normal':
            torch.nn.init.normal_(p, std=float(o.get('start_sigma', 0.02)))
        elif o.get('start') == 'glorot':
            torch.nn.init.xavier_uniform_(p)
        else:
            torch.nn.init.normal_(p, std=math.sqrt(2 / p[0].numel()))
    return net


def pictures(folder, classes, size):
    """Pixels (N, 3, size, size) of 0 to 255 and labels, cropped to a square in the middle and made smaller by area."""
    from PIL import Image
    cache = f'{folder}-{size}.npz'
    if os.path.exists(cache):
        with np.load(cache) as file:
            return torch.from_numpy(file['x']), torch.from_numpy(file['y'])
    x, y = [], []
    for label, name in enumerate(classes):
        for file in sorted(os.listdir(os.path.join(folder, name))):
            im = Image.open(os.path.join(folder, name, file)).convert('RGB')
            side = min(im.size)
            left, top = (im.size[0] - side) // 2, (im.size[1] - side) // 2
            box = (left, top, left + side, top + side)
            im = im.resize((size, size), Image.BOX if side > size else Image.BILINEAR, box)
            x.append(np.asarray(im).transpose(2, 0, 1))
            y.append(label)
    x, y = np.stack(x), np.array(y)
    np.savez(cache, x=x, y=y)
    return torch.from_numpy(x), torch.from_numpy(y)


def idx(folder, part):
    """As pictures(), of MNIST's files, without another size."""
    with gzip.open(os.path.join(folder, part + '-images-idx3-ubyte.gz')) as file:
        size, pixels = np.frombuffer(file.read(16), '>u4')[2:], np.frombuffer(file.read(), np.uint8)
    with gzip.open(os.path.join(folder, part + '-labels-idx1-ubyte.gz')) as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return torch.tensor(pixels.reshape(-1, 1, *size)), torch.tensor(labels, dtype=torch.long)


def sets(data, size):
    if not os.path.isdir(os.path.join(data, 'train')):
        return idx(data, 'train') + idx(data, 't10k')
    classes = sorted(os.listdir(os.path.join(data, 'train')))
    return pictures(os.path.join(data, 'train'), classes, size) + pictures(os.path.join(data, 'test'), classes, size)


def step(net, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    net.step += 1
    return loss.item()


def train(path, data, epochs, seed):
    net = network(path, seed)
    batch = int(net.train_options['batch'])
    x, y, tx, ty = sets(data, net.size)
    whole = len(x) - len(x) % batch if net.train_options.get('drop_last') == 'yes' else len(x)
    optimizer, order = torch_model.optimizer(net), np.random.default_rng(seed)
    net.seed = seed
    net = net.to(memory_format=torch.channels_last)
    accuracy, seconds, losses = [], [], []
    for _ in range(epochs):
        begin = time.perf_counter()
        net.train()
        perm, loss = order.permutation(len(x)), []
        for i in range(0, whole, batch):
            now = perm[i:i + batch]
            loss.append(step(net, optimizer, net.see(x[now].float(), None, None), y[now]))
        seconds.append(time.perf_counter() - begin)
        net.eval()
        with torch.no_grad():
            right = sum(int((net(net.see(tx[i:i + batch].float(), None, None)).argmax(1) == ty[i:i + batch]).sum())
                        for i in range(0, len(tx), batch))
        accuracy.append(right / len(tx))
        losses.append(statistics.mean(loss))
        now = f'loss {losses[-1]:.3f}, test {accuracy[-1]:.4f}, {seconds[-1]:.1f} s'
        print(f'PyTorch, seed {seed}: {now}', file=sys.stderr)
    return {'accuracy': accuracy, 'seconds': seconds, 'loss': losses}


def times(path, steps):
    best = None
    for layout in (torch.contiguous_format, torch.channels_last):
        net = network(path, 1)
        net.input = 'unit'  # whitened pictures lie in memory
        net = net.to(memory_format=layout)
        optimizer = torch_model.optimizer(net)
        batch = int(net.train_options['batch'])
        x = torch.rand(batch, net.channels, net.size, net.size).to(memory_format=layout)
        y = torch.randint(net.classes, (batch,))
        taken = []
        for i in range(steps + 3):
            begin = time.perf_counter()
            step(net, optimizer, x, y)
            taken.append(1e3 * (time.perf_counter() - begin))
        row = {'median_ms': statistics.median(taken[3:]), 'best_ms': min(taken[3:]), 'steps': steps,
               'layout': str(layout).split('.')[1]}
        if best is None or row['median_ms'] < best['median_ms']:
            best = row
    return best


def main():
    torch.set_flush_denormal(True)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    out = train(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])) if sys.argv[1] == 'train' else \
        times(sys.argv[2], int(sys.argv[3]))
    json.dump(dict(out, torch=torch.__version__), sys.stdout)


if __name__ == '__main__':
    main()
