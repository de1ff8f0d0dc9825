#!/usr/bin/env python3
"""Compare dcgan's Inception features, FID and KID with pytorch-fid and clean-fid.

    tools/pytorch/compare_fid.py weights OUT.pth IMAGES [--legacy] [--seed N]
    tools/pytorch/compare_fid.py golden OUT.safetensors IMAGES [--weights F.pth] [--count N] [--size N]
    tools/pytorch/compare_fid.py fid F.pth A B [--clean] [--moments A.npz]
    tools/pytorch/compare_fid.py moments A.npz B.npz

`weights` writes random weights in the layout of pt_inception-2015-12-05-6726825d.pth, which cannot be downloaded
everywhere. The statistics of batch norm are those of the images, so that the features vary as those of trained weights
do. `golden` writes weights, images, their features with both ways of resizing, and small resized images; without
--weights, the network has a 32nd of the channels, as tests/golden/inception.safetensors. The test reads such a file:
DG_TEST_INCEPTION=FILE build/tests/test_inception. `fid` prints the FID and the KID of two folders, computed by the code
of pytorch-fid and clean-fid, and writes the moments of A. `moments` reads two files by pytorch-fid's code and prints
their largest differences.

Needs torch, torchvision, scipy, numpy, Pillow, safetensors, pytorch-fid 0.3.0 and, for --clean and `golden`,
clean-fid 0.1.35.
"""
import argparse
import pathlib

import numpy as np
import torch
import torch.nn as nn
from cleanfid.fid import kernel_distance
from cleanfid.resize import make_resizer
from PIL import Image
from pytorch_fid import fid_score, inception
from safetensors.numpy import save_file

SHRINK = 32


original = inception.fid_inception_v3


def network(weights, shrunk=False):
    """pytorch-fid's network before it is cut into blocks: with the weights of a file, or without values."""
    inception.load_state_dict_from_url = lambda url, progress: torch.load(weights, map_location='cpu')
    if weights:
        return original().eval()
    load, nn.Module.load_state_dict = nn.Module.load_state_dict, lambda self, state: None
    inception.load_state_dict_from_url = lambda url, progress: None
    net = original()
    nn.Module.load_state_dict = load
    for module in list(net.modules()):
        if hasattr(module, 'bn') and shrunk:
            c, out = module.conv, -(-module.conv.out_channels // SHRINK)
            module.conv = nn.LazyConv2d(out, c.kernel_size, c.stride, c.padding, bias=False)
            module.bn = nn.BatchNorm2d(out, eps=module.bn.eps)
    return net


def model_of(net, resize):
    """pytorch-fid's model of the network. Without `resize`, its inputs are already resized, from -1 to 1."""
    inception.fid_inception_v3 = lambda: net
    return inception.InceptionV3([3], resize_input=resize, normalize_input=resize).train(net.training)


def features(net, batch, resize):
    model = model_of(net, resize)
    with torch.no_grad():
        return torch.cat([model(x)[0].flatten(1) for x in batch.split(16)]).double().numpy()


def randomise(net, batch, seed):
    """Random weights; running statistics of the batch."""
    torch.manual_seed(seed)
    net.train()
    model = model_of(net, True)
    with torch.no_grad():
        model(batch[:2])  # sizes of lazy layers
        for module in net.modules():
            if isinstance(module, nn.Conv2d) and module.weight.numel():
                nn.init.kaiming_normal_(module.weight)
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = 1
                nn.init.uniform_(module.weight, 1.5, 3)
                nn.init.normal_(module.bias, 0.5, 0.6)
        model(batch)
    return net.eval()


def images_of(folder, count=None, size=None):
    files = sorted(p for p in pathlib.Path(folder).rglob('*') if p.suffix.lower() in ('.png', '.jpg', '.jpeg'))[:count]
    found = [Image.open(f).convert('RGB') for f in files]
    return [np.asarray(i.resize((size, size)) if size else i) for i in found]


def like_pytorch_fid(images):
    return torch.stack([torch.from_numpy(i.copy()).permute(2, 0, 1) for i in images]).float() / 255


def like_clean_fid(images, size=299):
    f = make_resizer('PIL', False, 'bicubic', (size, size))
    x = torch.stack([torch.from_numpy(f(i)).permute(2, 0, 1) for i in images])
    return (x - 128) / 128


def used(net):
    return {k: v for k, v in net.state_dict().items() if not k.startswith('fc.') and 'num_batches' not in k}


def report(f):
    print(f'{f.shape[1]} features, mean {f.mean():.3f}, standard deviation of a feature {f.std(0).mean():.3f}')


def do_weights(o):
    net, batch = network(None), like_pytorch_fid(images_of(o.images, 32))
    randomise(net, batch, o.seed)
    report(features(net, batch, True))
    torch.save(net.state_dict(), o.out, _use_new_zipfile_serialization=not o.legacy)


def do_golden(o):
    images = images_of(o.images, o.count, o.size)
    net = network(o.weights, shrunk=not o.weights)
    if not o.weights:
        randomise(net, like_pytorch_fid(images), o.seed)
        for v in used(net).values():
            v.copy_(v.half().float())
    tensors = {k: v.numpy().astype(np.float32 if o.weights else np.float16) for k, v in used(net).items()}
    tensors['images'] = np.stack(images)
    tensors['expect.pytorch-fid'] = features(net, like_pytorch_fid(images), True)
    tensors['expect.clean-fid'] = features(net, like_clean_fid(images), False)
    for size in 17, 51:
        x = nn.functional.interpolate(like_pytorch_fid(images[:1]), size=(size, size), mode='bilinear')
        for name, y in ('pytorch-fid', 2 * x - 1), ('clean-fid', like_clean_fid(images[:1], size)):
            tensors[f'resized.{name}.{size}'] = y[0].permute(1, 2, 0).contiguous().numpy()
    report(tensors['expect.pytorch-fid'])
    save_file(tensors, o.out)


def do_fid(o):
    net = network(o.weights)
    prepare = like_clean_fid if o.clean else like_pytorch_fid
    found = []
    for folder in o.a, o.b:
        images = images_of(folder)
        parts = [features(net, prepare(images[i:i + 50]), not o.clean) for i in range(0, len(images), 50)]
        found.append(np.concatenate(parts))
    moments = [(f.mean(0), np.cov(f, rowvar=False)) for f in found]
    print('images:', *map(len, found))
    print('FID:', fid_score.calculate_frechet_distance(*moments[0], *moments[1]))
    np.random.seed(1)
    half = min(map(len, found)) // 2
    one = [kernel_distance(*found, num_subsets=1, max_subset_size=min(1000, half)) for _ in range(100)]
    print('KID:', np.mean(one), 'deviation', np.std(one))
    if o.moments:
        np.savez_compressed(o.moments, mu=moments[0][0], sigma=moments[0][1])


def do_moments(o):
    a, b = (fid_score.compute_statistics_of_path(path, None, 0, 2048, 'cpu') for path in (o.a, o.b))
    for name, x, y in ('mu', a[0], b[0]), ('sigma', a[1], b[1]):
        print(f'{name} {x.shape}: largest difference {abs(x - y).max():.3g}, largest value {abs(x).max():.3g}')


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
commands = parser.add_subparsers(required=True)
p = commands.add_parser('weights')
p.set_defaults(run=do_weights)
p.add_argument('out')
p.add_argument('images')
p.add_argument('--legacy', action='store_true')
p.add_argument('--seed', type=int, default=1)
p = commands.add_parser('golden')
p.set_defaults(run=do_golden)
p.add_argument('out')
p.add_argument('images')
p.add_argument('--weights')
p.add_argument('--count', type=int, default=3)
p.add_argument('--size', type=int, default=40)
p.add_argument('--seed', type=int, default=1)
p = commands.add_parser('fid')
p.set_defaults(run=do_fid)
p.add_argument('weights')
p.add_argument('a')
p.add_argument('b')
p.add_argument('--clean', action='store_true')
p.add_argument('--moments')
p = commands.add_parser('moments')
p.set_defaults(run=do_moments)
p.add_argument('a')
p.add_argument('b')
options = parser.parse_args()
options.run(options)
