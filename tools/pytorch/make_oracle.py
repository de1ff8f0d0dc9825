#!/usr/bin/env python3
"""Write an oracle: a run of PyTorch, step by step, in one file that `dcgan replay` checks us against.

    tools/pytorch/make_oracle.py --images DIR --out FILE.safetensors --model FILE.cfg [--batch 8] [--count 60]
                           [--steps 20] [--dtype float64] [--eps 1e-8] [--seed 1] [--small] [--ties]
                           [--device cpu] [--arithmetic plain] [--loss bce] [--augment color,translation,cutout]
                           [--r1 GAMMA] [--r2 GAMMA] [--augment-p X] [--ema-half-life IMAGES]
                           [--schedule IMAGES] [--lr-end X] [--beta2-end X] [--r1-end GAMMA] [--r2-end GAMMA]
                           [--class-fade IMAGES]

Records the networks of a model file, built by torch_model.py: of a classifier, with its recipe, or of a GAN. A GAN's
weights keep the size of activations, also those of layers with start = zero, and no bias of a convolution is 0, so
that a wrong gradient shows in the first step. Older oracles have the options of stock DCGANs instead of a model file.
DIR has one folder per class; without folders image i has class i modulo the number of classes.

Needs torch, numpy and Pillow. The loss of a GAN is on logits, and its order of steps that of PyTorch's DCGAN example:
D on real, D on fake (each with its own batch statistics, gradients summed), Adam on D, the updated D on the same
fakes, Adam on G. Weights are drawn as float32. Images are used in index order; the last batch of a round may be short.
--r1 and --r2 add gradient penalties by double backward, of the images that D sees; they need a D without batch norm.
--schedule is the length of dcgan's --schedule cosine; the other options of that line are those of dcgan.
--loss and --augment are the options of dcgan: other losses, and DiffAugment with dcgan's random numbers of seed 1.
Spectral norm of D is torch.nn.utils.spectral_norm's. It iterates once per step, in the pass over the real images; in
the others D is in eval mode, which uses the present u and v with the weights of that time. A relativistic loss of G
reads the real images once more, in a pass that does not change running statistics.
With --dtype float32, --arithmetic bf16 and fp16 are PyTorch's own ways of losing digits: autocast to bfloat16, and to
float16 with a GradScaler of one scale. plain has none of them.

Layout (safetensors; names as in the example's state_dict, after init., expect.step0.grad., expect.final.):
  metadata                format = dcgan-oracle-1 and every option above, as text
  images                  U8  [count, C, H, W]; the networks see x / 127.5 - 1
  index                   I64 [steps, batch]; -1 fills up a short batch
  z                       F64 [steps, batch, latent]; values that float32 holds exactly
  labels                  I64 [count], of a model with classes; samples have the labels of the real images
  init.G.* init.D.*       F32 weights and running statistics before step 0
  expect.r1, expect.r2    F64 [steps], with --r1 or --r2: mean squared norms of D's gradient by the images
  expect.loss_d_real, expect.loss_d_fake, expect.loss_g, expect.d_x, expect.d_gz1, expect.d_gz2    F64 [steps]
  expect.step0.grad.*     the gradients that Adam sees at step 0 (not with --small)
  expect.final.*          weights and running statistics at the end
  expect.average.G.*      averages of G's weights at the end, with --ema-half-life
  expect.sample           F64 [8 or fewer, C, H, W]: G in eval mode on z[0] with the final weights (not with --ema-half-life)

Of a classifier: model, optimizer, and all numbers of its recipe in the metadata; images and index as above; instead
of z
  labels                  I64 [count]
  init.C.*                F32
  expect.loss, expect.accuracy    F64 [steps]
  expect.step0.grad.*, expect.final.*
  expect.test             F64 [8 or fewer, classes]: of the first images in eval mode with the final weights
"""
import argparse
import json
import math
import os
import struct

os.environ.setdefault('CUBLAS_WORKSPACE_CONFIG', ':4096:8')  # for deterministic algorithms on a GPU, before CUDA starts

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

import torch_model

CODES = {'float64': 'F64', 'float32': 'F32', 'int64': 'I64', 'uint8': 'U8'}


def write_safetensors(path, tensors, metadata):
    header, blobs, at = {'__metadata__': metadata}, [], 0
    for name, value in tensors.items():
        value = np.asarray(value, order='C')
        header[name] = {'dtype': CODES[value.dtype.name], 'shape': list(value.shape),
                        'data_offsets': [at, at + value.nbytes]}
        blobs.append(value.tobytes())
        at += value.nbytes
    text = json.dumps(header, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + b''.join(blobs))


def networks(text, o):
    """G and D of a model file; sets the sizes in o."""
    sections = torch_model.parse(text)
    model = sections['model']
    o.size = torch_model.size_of(model['size'])
    o.channels, o.latent, o.classes = (int(model.get(k, v)) for k, v in
                                       (('channels', 3), ('latent', 100), ('classes', 0)))
    if o.classes:  # one logit per class, and the logit of D without classes
        last = max((name for name in sections if name.startswith('D.')), key=lambda name: int(name[2:]))
        sections[last]['filters'] = str(o.classes + 1)
    G = torch_model.Network(sections, 'G', (o.latent + o.classes, 1, 1))
    D = torch_model.Network(sections, 'D', (o.channels, *o.size))
    for l in (l for net in (G, D) for l in net.layers if hasattr(l.get('module'), 'weight')):
        m, act = l['module'], l.get('act', 'none')
        weight = getattr(m, 'weight_orig', m.weight)  # weight_orig: of spectral norm
        fan_in = weight.shape[0] if isinstance(m, nn.ConvTranspose2d) else weight[0].numel()
        gain = float(l.get('gain', 1)) * (nn.init.calculate_gain('leaky_relu', 0.2) if act == 'leaky' else 1)
        nn.init.normal_(weight, 0.0, gain / fan_in ** 0.5)
        if m.bias is not None:
            nn.init.normal_(m.bias, 0.0, 0.1)
        if 'norm_module' in l:
            nn.init.normal_(l['norm_module'].weight, 1.0, 0.02)
    return G, D


def arrays(net, prefix):
    return {prefix + name: value.detach().cpu().numpy().copy() for name, value in net.state_dict().items()}


def gradients(net, prefix):
    return {prefix + name: value.grad.cpu().numpy().copy() for name, value in net.named_parameters()}


def load_images(o):
    names = sorted(n for n in os.listdir(o.images) if n.lower().endswith(('.png', '.jpg', '.jpeg')))[:o.count]
    out = np.empty((len(names), o.channels, *o.size), np.uint8)
    for i, name in enumerate(names):
        image = Image.open(os.path.join(o.images, name)).convert('L' if o.channels == 1 else 'RGB')
        a = np.asarray(image.resize(o.size[::-1], Image.BILINEAR))
        out[i] = a[None] if o.channels == 1 else a.transpose(2, 0, 1)
    return out


def batches(o, count):
    rounds = -(-count // o.batch)
    index = np.full((o.steps, o.batch), -1, np.int64)
    for s in range(o.steps):
        first = (s % rounds) * o.batch
        rows = np.arange(first, min(first + o.batch, count))
        index[s, :len(rows)] = rows
    return index


SCHEDULED = ('schedule', 'lr_end', 'beta2_end', 'r1_end', 'r2_end', 'ema_half_life', 'augment_p', 'class_fade')


def cosine(o, start, end, shown):
    """A value after `shown` images; end 0: it does not change."""
    u = min(1, shown / o.schedule) if o.schedule else 0
    c = (1 + math.cos(math.pi * u)) / 2
    return end + (start - end) * c if o.schedule and end else start


def rising(o, end, shown):
    """A value that a schedule begins at 0."""
    return cosine(o, 0, end, shown) if o.schedule else end


def augment(o, x, step, order, first):
    """DiffAugment as published, one image at a time, with the numbers that dcgan draws for images `first` on."""
    if not o.augment:
        return x
    out, (H, W) = [], x.shape[2:]
    chance = torch_model.philox(1, 10 << 56 | order << 40 | step, (1 << 32) + np.arange(first + len(x)))[first:]
    words = torch_model.philox(1, 10 << 56 | order << 40 | step, np.arange(2 * (first + len(x)))).reshape(-1, 8)
    for image, word, chosen in zip(x, words[first:], chance):
        u = [int(w) / 2.0 ** 32 for w in word]
        on = {k for k, w in zip(('color', 'translation', 'cutout'), chosen)
              if k in o.augment and int(w) / 2.0 ** 32 < o.augment_now}
        if 'color' in on:
            image = image + (u[0] - 0.5)
            mean = image.mean(dim=0, keepdim=True)
            image = (image - mean) * (2 * u[1]) + mean
            image = (image - image.mean()) * (u[2] + 0.5) + image.mean()
        if 'translation' in on:
            m = [int(side / 8 + 0.5) for side in (H, W)]
            t = [int(v * (2 * most + 1)) - most for v, most in zip(u[3:5], m)]
            padded = nn.functional.pad(image, (m[1], m[1], m[0], m[0]))
            image = padded[:, m[0] + t[0]:m[0] + t[0] + H, m[1] + t[1]:m[1] + t[1] + W]
        if 'cutout' in on:
            mask = torch.ones_like(image)
            box = [int(side / 2 + 0.5) for side in (H, W)]
            at = [int(v * (side + 1 - b % 2)) - b // 2 for v, side, b in zip(u[5:7], (H, W), box)]
            mask[:, max(at[0], 0):at[0] + box[0], max(at[1], 0):at[1] + box[1]] = 0
            image = image * mask
        out.append(image)
    return torch.stack(out)


def between(low):
    """D's output scaled to 0 .. 1 between its targets, low and 1."""
    return lambda logit: ((logit - low) / (1 - low)).clamp(0, 1)


def average(real, fake, sign):
    """Both halves of a relativistic average loss; sign 1: of D."""
    return ((real - fake.mean() - sign) ** 2).mean() / 2, ((fake - real.mean() + sign) ** 2).mean() / 2


def pairs(real, fake, sign):
    """Both halves of a relativistic pairing loss, which are equal."""
    half = F.softplus(-sign * (real - fake)).mean() / 2
    return half, half


# A row per --loss. alone(logit, real, of_g): the loss of logits of real images, or of samples; or halves(real, fake,
# sign): both halves of a loss that compares them, sign 1 for D, -1 for G, and against(other), which is subtracted from
# the logits for prob. prob(logit): D's output from 0 to 1.
LOSSES = {
    'bce': {'alone': lambda l, real, of_g: F.binary_cross_entropy_with_logits(l, torch.full_like(l, float(real))),
            'prob': torch.sigmoid},
    'lsgan': {'alone': lambda l, real, of_g: F.mse_loss(l, torch.full_like(l, float(real))) / 2, 'prob': between(0.0)},
    'hinge': {'alone': lambda l, real, of_g: -l.mean() if of_g else (1 - l if real else 1 + l).relu().mean(),
              'prob': between(-1.0)},
    'ralsgan': {'halves': average, 'against': torch.mean, 'prob': between(-1.0)},
    'rpgan': {'halves': pairs, 'against': lambda other: other, 'prob': torch.sigmoid},
}


def inputs_of(o, z, label):
    """The input of G: z and, with classes, the one-hot label."""
    one_hot = F.one_hot(label, o.classes).to(z) if o.classes else z[:, :0]
    return torch.cat([z, one_hot], dim=1)[:, :, None, None]


def picked(o, logit, label, weight):
    """The logits of images of these classes, from logits (N, classes + 1) of a conditional D."""
    return logit[:, -1] + weight * logit.gather(1, label[:, None])[:, 0] if o.classes else logit.flatten()


def train(o, G, D, images, labels, index, z):
    """The run; returns losses per step, the gradients of step 0 and averages of weights."""
    dtype = getattr(torch, o.dtype)
    adam = [torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999), eps=o.eps) for net in (D, G)]
    loss_row = LOSSES[o.loss]
    penalised = o.r1 > 0 or o.r2 > 0
    spectral = any(l.get('norm') == 'spectral' for l in D.layers)
    log = {k: np.zeros(o.steps) for k in ('loss_d_real', 'loss_d_fake', 'loss_g', 'd_x', 'd_gz1', 'd_gz2',
                                          *(('r1', 'r2') if penalised else ()))}
    first = {}
    # from where it stands it neither skips a step nor grows; gradients of weights are fp16 as well
    scaler = torch.amp.GradScaler(o.device, init_scale=32.0 * o.batch, growth_interval=10**9,
                                   enabled=o.arithmetic == 'fp16')

    def run(net, x):
        half = {'bf16': torch.bfloat16, 'fp16': torch.float16}.get(o.arithmetic)
        with torch.autocast(o.device, dtype=half, enabled=half is not None):
            return net(x)

    def logits(x):
        out = picked(o, run(D, x).flatten(1).to(dtype), label, o.classes_now)
        D.train(not spectral)
        return out

    def look_again(x):
        """D on x without a change of its statistics."""
        norms = [m for m in D.modules() if isinstance(m, nn.BatchNorm2d)]
        for norm in norms:
            norm.momentum = 0.0
        with torch.no_grad():
            out = logits(x)
        for norm in norms:
            norm.momentum = 0.1
        return out

    def prob_of(logit, other):
        return loss_row['prob'](logit - (0 if other is None else loss_row['against'](other))).mean().item()

    def penalty(x, logit, s, name):
        """R1 or R2 by double backward."""
        if not penalised:
            return 0
        v, = torch.autograd.grad(logit.sum(), x, create_graph=True)
        squares = v.square().sum(dim=(1, 2, 3)).mean()
        log[name][s] = squares.item()
        return cosine(o, getattr(o, name), getattr(o, name + '_end'), shown) / 2 * squares

    def score(x, real, s, loss_name, mean_name, of_g=False):
        logit = logits(x)
        loss = loss_row['alone'](logit, real, of_g)
        more = 0 if of_g else penalty(x, logit, s, 'r1' if real else 'r2')
        scaler.scale(loss + more).backward()
        log[loss_name][s], log[mean_name][s] = loss.item(), prob_of(logit, None)

    def score_relative(x, fake, s):
        real, other = logits(x), logits(fake)
        halves = loss_row['halves'](real, other, 1)
        (sum(halves) + penalty(x, real, s, 'r1') + penalty(fake, other, s, 'r2')).backward()
        log['loss_d_real'][s], log['loss_d_fake'][s] = (half.item() for half in halves)
        log['d_x'][s], log['d_gz1'][s] = prob_of(real, other), prob_of(other, real)

    def score_relative_g(real, x, s):
        fake = logits(x)
        loss = sum(loss_row['halves'](real, fake, -1))
        loss.backward()
        log['loss_g'][s], log['d_gz2'][s] = loss.item(), prob_of(fake, real)

    averages, shown = {}, 0
    for s in range(o.steps):
        rows = index[s][index[s] >= 0]
        o.augment_now = rising(o, o.augment_p, shown)
        o.classes_now = min(1, max(0, 1.5 * shown / o.class_fade - 0.5)) if o.class_fade else 1
        label = torch.from_numpy(labels[rows]).to(o.device)
        for group in (g for a in adam for g in a.param_groups):
            group['lr'] = cosine(o, 2e-4, o.lr_end, shown)
            group['betas'] = 0.5, cosine(o, 0.999, o.beta2_end, shown)
        adam[0].zero_grad()
        D.train()
        real = torch.from_numpy(images[rows]).to(o.device, dtype) / 127.5 - 1
        fake = run(G, inputs_of(o, torch.from_numpy(z[s, :len(rows)]).to(o.device, dtype), label))
        real, seen = augment(o, real, s, 0, 0), augment(o, fake, s, 0, len(rows))
        real.requires_grad_(penalised)
        if 'halves' in loss_row:
            score_relative(real, seen.detach().requires_grad_(penalised), s)
        else:
            score(real, True, s, 'loss_d_real', 'd_x')
            score(seen.detach().requires_grad_(penalised), False, s, 'loss_d_fake', 'd_gz1')
        scaler.unscale_(adam[0])
        if s == 0:
            first.update(gradients(D, 'expect.step0.grad.D.'))
        scaler.step(adam[0])
        scaler.update()
        adam[1].zero_grad()
        if 'halves' in loss_row:
            score_relative_g(look_again(real), augment(o, fake, s, 1, 0), s)
        else:
            score(augment(o, fake, s, 1, 0), True, s, 'loss_g', 'd_gz2', True)
        scaler.unscale_(adam[1])
        if s == 0:
            first.update(gradients(G, 'expect.step0.grad.G.'))
        scaler.step(adam[1])
        scaler.update()
        half_life = rising(o, o.ema_half_life, shown)
        decay = min(0.5 ** (len(rows) / half_life) if half_life else 0, s / (s + 10))
        for name, p in G.named_parameters() if o.ema_half_life else ():
            averages[name] = decay * averages.get(name, 0) + (1 - decay) * p.detach()
        shown += len(rows)
    return log, first, {'expect.average.G.' + k: v.double().cpu().numpy() for k, v in averages.items()}


def load_classes(o, net):
    """Images and labels: folder by folder in turns, so that the first ones are of all classes."""
    classes = sorted(e.name for e in os.scandir(o.images) if e.is_dir())
    files = [sorted(os.listdir(os.path.join(o.images, c))) for c in classes]
    names = [os.path.join(c, f[i]) for i in range(max(map(len, files), default=0)) for c, f in zip(classes, files)
             if i < len(f)][:o.count] or sorted(os.listdir(o.images))[:o.count]
    labels = np.array([classes.index(n.split('/')[0]) if classes else i % net.classes for i, n in enumerate(names)])
    images = np.empty((len(names), net.channels, *net.size), np.uint8)
    for i, name in enumerate(names):
        image = Image.open(os.path.join(o.images, name)).convert('L' if net.channels == 1 else 'RGB')
        a = np.asarray(image.resize(net.size[::-1], Image.BILINEAR))
        images[i] = a[None] if net.channels == 1 else a.transpose(2, 0, 1)
    return images, labels.astype(np.int64)


def classify(o, text):
    """The oracle of a classifier."""
    net = torch_model.Classifier(text)
    dtype = getattr(torch, o.dtype)
    if o.ties:
        with torch.no_grad():
            for convolution in (m for m in net.modules() if isinstance(m, nn.Conv2d)):
                for parameter in convolution.parameters():
                    parameter.copy_((4 * parameter).round() / 4)
    tensors = arrays(net, 'init.C.')
    net.to(dtype)
    images, labels = load_classes(o, net)
    if o.ties:
        images = np.where(images > 127, 255, 0).astype(np.uint8)
    index = batches(o, len(images))
    pixels = torch.from_numpy(images).to(dtype)
    mean, std = (f(pixels.double() / 255, dim=(0, 2, 3)).to(dtype) for f in
                 (torch.mean, lambda x, dim: torch.std(x, dim=dim, correction=0)))
    mean, std = (torch.from_numpy(np.array(v)).to(dtype) for v in (mean, std))
    if net.input == 'zca':
        net.whiten_by(pixels)
    optimizer = torch_model.optimizer(net)
    smoothing = torch_model.number(net.train_options, 'smoothing', 0)
    log = {k: np.zeros(o.steps) for k in ('loss', 'accuracy')}
    first = {}
    for s in range(o.steps):
        rows = index[s][index[s] >= 0]
        target = torch.from_numpy(labels[rows])
        net.step = s
        optimizer.zero_grad()
        logit = net(net.see(pixels[rows], mean, std))
        loss = nn.functional.cross_entropy(logit, target, label_smoothing=smoothing)
        loss.backward()
        if s == 0:
            first = gradients(net, 'expect.step0.grad.C.')
        optimizer.step()
        log['loss'][s], log['accuracy'][s] = loss.item(), (logit.argmax(1) == target).double().mean().item()
    net.eval()
    with torch.no_grad():
        test = net(net.see(pixels[:8], mean, std)).softmax(1).double().numpy()
    tensors = {'images': images, 'index': index, 'labels': labels, **tensors,
               **{'expect.' + k: v for k, v in log.items()}, **({} if o.small else first),
               **arrays(net, 'expect.final.C.'), 'expect.test': test}
    meta = dict(torch_model.settings(net), format='dcgan-oracle-1', model=text, count=len(images), batch=o.batch,
                steps=o.steps, dtype=o.dtype, seed=1, torch=torch.__version__,
                mean=' '.join(repr(float(v)) for v in mean), std=' '.join(repr(float(v)) for v in std))
    write_safetensors(o.out, tensors, {k: str(v) for k, v in meta.items()})
    print(f"{o.out}: {os.path.getsize(o.out) / 1e6:.2f} MB, loss {log['loss'][0]:.6f} to {log['loss'][-1]:.6f}, "
          f"{100 * log['accuracy'][-1]:.0f}% right at the last step")


def main(arguments=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--images', required=True)
    p.add_argument('--out', required=True)
    p.add_argument('--model', required=True, help='a classifier or a GAN, as a model file')
    for name, default in dict(batch=8, count=60, steps=20, seed=1).items():
        p.add_argument('--' + name, type=int, default=default)
    p.add_argument('--eps', type=float, default=1e-8)
    p.add_argument('--dtype', default='float64', choices=['float64', 'float32'])
    p.add_argument('--device', default='cpu', choices=['cpu', 'cuda'])
    p.add_argument('--arithmetic', default='plain', choices=['plain', 'bf16', 'fp16'])
    p.add_argument('--loss', default='bce', choices=LOSSES)
    p.add_argument('--augment', default='')
    p.add_argument('--r1', type=float, default=0)
    p.add_argument('--r2', type=float, default=0)
    for name in SCHEDULED:
        p.add_argument('--' + name.replace('_', '-'), type=float, default=1 if name == 'augment_p' else 0)
    p.add_argument('--small', action='store_true', help='leave out the gradients')
    p.add_argument('--ties', action='store_true',
                   help='black and white images and first convolutions in quarters: with input = unit their sums are '
                        'exact, and of many windows several pixels are the largest')
    o = p.parse_args(arguments)
    if o.arithmetic != 'plain' and o.dtype == 'float64':
        p.error(f'--arithmetic {o.arithmetic} is for --dtype float32')

    torch.manual_seed(o.seed)
    torch.use_deterministic_algorithms(True)
    with open(o.model) as file:
        text = file.read()
    if '[C.' in text:
        return classify(o, text)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    G, D = networks(text, o)
    tensors = {**arrays(G, 'init.G.'), **arrays(D, 'init.D.')}
    G, D = (net.to(o.device, getattr(torch, o.dtype)) for net in (G, D))
    images = load_images(o)
    labels = np.arange(len(images)) * 7 % max(1, o.classes)
    index = batches(o, len(images))
    z = torch.randn(o.steps, o.batch, o.latent, dtype=torch.float32).double().numpy()
    log, first, averages = train(o, G, D, images, labels, index, z)
    tensors = {'images': images, 'index': index, 'z': z, **tensors, **{'expect.' + k: v for k, v in log.items()},
               **averages} | ({'labels': labels} if o.classes else {})
    if not o.small:
        tensors.update(first)
    tensors.update({**arrays(G, 'expect.final.G.'), **arrays(D, 'expect.final.D.')})
    G.eval()
    with torch.no_grad():
        some = torch.from_numpy(z[0, :min(8, (index[0] >= 0).sum())]).to(o.device, getattr(torch, o.dtype))
        if not o.ema_half_life:
            label = torch.from_numpy(labels[index[0][:len(some)]]).to(o.device)
            tensors['expect.sample'] = G(inputs_of(o, some, label)).double().cpu().numpy()
    meta = {k: getattr(o, k) for k in ('batch', 'steps', 'dtype', 'seed')} | {'model': text}
    meta.update(format='dcgan-oracle-1', count=len(images), eps=repr(o.eps), lr='0.0002', beta1='0.5', beta2='0.999',
                torch=torch.__version__)
    meta.update({k: v for k, v in (('loss', o.loss), ('augment', o.augment),
                                   ('r1', o.r1), ('r2', o.r2)) if v and v != 'bce'})
    meta.update({k: repr(getattr(o, k)) for k in SCHEDULED if getattr(o, k) != p.get_default(k)})
    write_safetensors(o.out, tensors, {k: str(v) for k, v in meta.items()})
    print(f"{o.out}: {os.path.getsize(o.out) / 1e6:.2f} MB, loss of D "
          f"{log['loss_d_real'][-1] + log['loss_d_fake'][-1]:.6f}, of G {log['loss_g'][-1]:.6f} at the last step")


if __name__ == '__main__':
    main()
