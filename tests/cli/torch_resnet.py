#!/usr/bin/env python3
"""A ResNet50 as torchvision names and orders it, sixteen times narrower, for tests/cli/torch_names.sh.

    torch_resnet.py write FILE              its state dict as safetensors, random, without PyTorch
    torch_resnet.py same A B                have both files the same tensors, to the bit?
    torch_resnet.py judge FILE PNG JSON     compare the classes of PyTorch and dcgan; 77: no PyTorch
"""
import json
import random
import struct
import sys

import st

SIZE, CLASSES = 64, 12
BLOCKS, WIDTH = (3, 4, 6, 3), 4


def tensors():
    """name -> shape, in the order of torchvision's state_dict."""
    out = {}

    def conv(name, co, ci, k):
        out[name + '.weight'] = (co, ci, k, k)

    def norm(name, c):
        for field in ('weight', 'bias', 'running_mean', 'running_var'):
            out[f'{name}.{field}'] = (c,)
        out[name + '.num_batches_tracked'] = ()

    conv('conv1', WIDTH, 3, 7)
    norm('bn1', WIDTH)
    inputs = WIDTH
    for stage, blocks in enumerate(BLOCKS):
        width = WIDTH << stage
        for block in range(blocks):
            at = f'layer{stage + 1}.{block}.'
            for k, (co, ci, kernel) in enumerate(((width, inputs, 1), (width, width, 3), (4 * width, width, 1)), 1):
                conv(f'{at}conv{k}', co, ci, kernel)
                norm(f'{at}bn{k}', co)
            if not block:
                conv(at + 'downsample.0', 4 * width, inputs, 1)
                norm(at + 'downsample.1', 4 * width)
            inputs = 4 * width
    out['fc.weight'], out['fc.bias'] = (CLASSES, inputs), (CLASSES,)
    return out


def values(name, shape):
    count = 1
    for d in shape:
        count *= d
    fan = max(1, count // shape[0]) if shape else 1
    if name.endswith('running_var') or (len(shape) == 1 and name.endswith('weight')):
        return [random.uniform(0.5, 1.5) for _ in range(count)]
    return [random.gauss(0, (2 / fan) ** 0.5 if len(shape) > 1 else 0.1) for _ in range(count)]


def write(path):
    random.seed(1)
    header, blobs, at = {}, [], 0
    for name, shape in tensors().items():
        blob = struct.pack(f'<{len(v)}f', *v) if shape and (v := values(name, shape)) else struct.pack('<q', 0)
        header[name] = {'dtype': 'F32' if shape else 'I64', 'shape': list(shape),
                        'data_offsets': [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    st.write(path, header, {'format': 'pt'}, b''.join(blobs))


def read(path):
    header, _, data = st.read(path)
    return {n: (t['dtype'], t['shape'], data[slice(*t['data_offsets'])]) for n, t in header.items()}


def judge(weights, png, said):
    try:
        import numpy as np
        import torch
        import torch.nn.functional as F
        from PIL import Image
    except ImportError as missing:
        print(missing)
        return 77
    kind = {'F32': np.float32, 'I64': np.int64}
    w = {n: torch.from_numpy(np.frombuffer(b, kind[t]).reshape(s).astype(np.float64)) for n, (t, s, b)
         in read(weights).items()}

    def norm(x, name):
        return F.batch_norm(x, w[name + '.running_mean'], w[name + '.running_var'], w[name + '.weight'],
                            w[name + '.bias'])

    x = np.asarray(Image.open(png).convert('RGB')).transpose(2, 0, 1)[None] / 255
    x = (torch.from_numpy(x) - torch.tensor([0.485, 0.456, 0.406], dtype=torch.float64)[:, None, None]) / torch.tensor(
        [0.229, 0.224, 0.225], dtype=torch.float64)[:, None, None]
    x = F.max_pool2d(F.relu(norm(F.conv2d(x, w['conv1.weight'], stride=2, padding=3), 'bn1')), 3, 2, 1)
    for stage, blocks in enumerate(BLOCKS):
        for block in range(blocks):
            at, stride = f'layer{stage + 1}.{block}.', 2 if stage and not block else 1
            y = F.relu(norm(F.conv2d(x, w[at + 'conv1.weight']), at + 'bn1'))
            y = F.relu(norm(F.conv2d(y, w[at + 'conv2.weight'], stride=stride, padding=1), at + 'bn2'))
            y = norm(F.conv2d(y, w[at + 'conv3.weight']), at + 'bn3')
            if not block:
                x = norm(F.conv2d(x, w[at + 'downsample.0.weight'], stride=stride), at + 'downsample.1')
            x = F.relu(x + y)
    expected = F.linear(x.mean((2, 3)), w['fc.weight'], w['fc.bias']).softmax(1)[0].tolist()
    with open(said) as file:
        got = {c['class']: c['share'] for c in json.load(file)[0]['classes']}
    worst = max(abs(expected[int(c)] - share) for c, share in got.items())
    print(f'{len(got)} classes, largest share {max(expected):.4f}, furthest from PyTorch {worst:.1e}')
    return 0 if len(got) == CLASSES and worst < 1e-5 and max(expected) > 0.1 else 1


if __name__ == '__main__':
    if sys.argv[1] == 'write':
        write(sys.argv[2])
    elif sys.argv[1] == 'same':
        sys.exit(read(sys.argv[2]) != read(sys.argv[3]))
    else:
        sys.exit(judge(*sys.argv[2:]))
