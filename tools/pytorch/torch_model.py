"""The networks of a model file (docs/model-files.md) as PyTorch modules, a classifier's optimiser, dropout masks.

Written for make_oracle.py --model: independent of the C program, from the same text. Tensors have the
names of nn.Sequential, main.N.weight, where N counts modules as the program does; dense layers are Linear, after a
Flatten.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

TAKES = {
    'conv': 'filters kernel stride pad groups bias norm add act slope start gain',
    'conv_transpose': 'filters kernel stride pad bias norm add act slope start gain',
    'dense': 'filters bias norm add act slope start gain',
    'max_pool': '', 'mean_pool': '', 'resample': '', 'dropout': '', 'add': '',  # these take nothing from [C]
}


def parse(text):
    """Sections in order: name -> {key: value}."""
    sections, now = {}, None
    for line in text.splitlines():
        line = line.split(';')[0].strip()
        if line.startswith('['):
            now = sections.setdefault(line[1:-1], {})
        elif line and line[0] != '#':
            key, value = line.split('=', 1)
            now[key.strip()] = value.strip()
    return sections


def size_of(text):
    """(height, width) of a value such as 64 or 64x96, which is WIDTHxHEIGHT."""
    sides = [int(side) for side in str(text).split('x')]
    return sides[-1], sides[0]


def windows(l, kernel):
    """Kernel (height, width), stride and pad of a layer."""
    k = size_of(l.get('kernel', kernel))
    return k, int(l.get('stride', 1)), int(l.get('pad', (k[0] - 1) // 2 if k[0] == k[1] else 0))


def layers(sections, net):
    """The layers of network net (a letter), unrolled: dictionaries with `in` and `add` as indices, -1 the network's
    input, None nothing."""
    count = max(int(name[2:]) for name in sections if name.startswith(net + '.'))
    default, out, newest = sections.get(net, {}), [], {}

    def block_end(i):
        return next((k for k in range(i, count + 1) if sections[f'{net}.{k}'].get('repeat_from') == f'{net}.{i}'), i)

    def append(i, first, begin):
        own = sections[f'{net}.{i}']
        kind = own.get('op', default.get('op', 'conv'))
        layer = {k: v for k, v in default.items() if k in TAKES[kind].split()}
        layer.update(own, op=kind)

        def place(name):
            number = int(name[2:])
            return begin if number == first - 1 else newest[number]

        layer['in'] = place(own['in']) if 'in' in own else len(out) - 1
        layer['add'] = place(own['add']) if 'add' in own else None
        newest[i] = len(out)
        out.append(layer)

    i = 1
    while i <= count:
        end = block_end(i)
        for _ in range(int(sections[f'{net}.{end}'].get('repeat', 1))):
            begin = len(out) - 1
            for k in range(i, end + 1):
                append(k, i, begin)
        i = end + 1
    return out


def philox(seed, subsequence, block):
    """Words (blocks, 4) of Philox4x32-10 with cuRAND's layout: key the seed, counter (block, subsequence)."""
    block = np.asarray(block, np.uint64)
    c = [block & 0xFFFFFFFF, block >> np.uint64(32),
         np.full_like(block, subsequence & 0xFFFFFFFF), np.full_like(block, subsequence >> 32)]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), p1 & np.uint64(0xFFFFFFFF),
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), p0 & np.uint64(0xFFFFFFFF)]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, -1)


def dropout_mask(shape, p, layer, seed, step):
    """1 where a value is kept; shape (N, C, H, W) or (N, C), counted by the program in the order N, H, W, C."""
    nhwc = shape if len(shape) == 2 else (shape[0], shape[2], shape[3], shape[1])
    n = int(np.prod(nhwc))
    words = philox(seed, 7 << 56 | layer << 40 | step, np.arange(-(-n // 4))).ravel()[:n]
    keep = (words >= np.uint64(int(p * 2.0 ** 32))).reshape(nhwc)
    return torch.from_numpy(np.ascontiguousarray(keep if len(shape) == 2 else keep.transpose(0, 3, 1, 2)))


class Resample(nn.Module):
    """Doubles or halves images (N, C, H, W) by the filter 1 3 3 1 in both directions; 0 outside."""

    def __init__(self, up, channels):
        super().__init__()
        line = torch.tensor([1.0, 3.0, 3.0, 1.0])
        kernel = (line[:, None] * line / (16 if up else 64)).expand(channels, 1, 4, 4).contiguous()
        self.convolve = F.conv_transpose2d if up else F.conv2d
        self.register_buffer('kernel', kernel, persistent=False)

    def forward(self, x):
        return self.convolve(x, self.kernel, stride=2, padding=1, groups=len(self.kernel))


class Network(nn.Module):
    """Network `net` of parsed sections, for inputs of shape (channels, height, width)."""

    def __init__(self, sections, net, shape):
        super().__init__()
        self.layers, self.main, self.step, self.seed = layers(sections, net), nn.ModuleDict(), 0, 1
        at, shapes = 0, []
        for layer in self.layers:
            c, h, w, flat = shapes[layer['in']] if layer['in'] >= 0 else (*shape, False)
            at = self.build(layer, at, c, h, w, flat, shapes)
        self.width = shapes[-1][0]

    def put(self, at, module):
        self.main[str(at)] = module
        return module

    def build(self, l, at, c, h, w, flat, shapes):
        op, norm, act = l['op'], l.get('norm', 'none') == 'batch', l.get('act', 'none')
        filters = int(l.get('filters', 0))
        bias = l.get('bias', 'yes' if op == 'dense' and not norm else 'no') == 'yes'
        if op == 'conv':
            k, s, p = windows(l, 0)
            l['module'] = self.put(at, nn.Conv2d(c, filters, k, s, p, groups=int(l.get('groups', 1)), bias=bias))
            h, w, c, flat, at = (h + 2 * p - k[0]) // s + 1, (w + 2 * p - k[1]) // s + 1, filters, False, at + 1
        elif op == 'dense':
            at += not flat
            l['module'] = self.put(at, nn.Linear(c * h * w, filters, bias=bias))
            h, w, c, flat, at = 1, 1, filters, True, at + 1
        elif op == 'conv_transpose':
            k, s, p = windows(l, 0)
            l['module'] = self.put(at, nn.ConvTranspose2d(c, filters, k, s, p, bias=bias))
            h, w, c, flat, at = (h - 1) * s + k[0] - 2 * p, (w - 1) * s + k[1] - 2 * p, filters, False, at + 1
        elif op == 'resample':
            up = l['scale'] == '2'
            l['module'] = self.put(at, Resample(up, c))
            h, w, at = (2 * h, 2 * w, at + 1) if up else (h // 2, w // 2, at + 1)
        elif op in ('max_pool', 'mean_pool'):
            k = size_of(l.get('kernel', f'{w}x{h}'))
            s, p = int(l.get('stride', max(k))), int(l.get('pad', 0))
            l['module'] = nn.MaxPool2d(k, s, p) if op == 'max_pool' else nn.AvgPool2d(k, s, p)
            h, w, at = (h + 2 * p - k[0]) // s + 1, (w + 2 * p - k[1]) // s + 1, at + 1
            if bias:
                l['after'] = nn.Parameter(torch.zeros(c))
                holder = self.put(at, nn.Module())
                holder.bias = l['after']
                at += 1
        elif op == 'dropout':
            at += 1
        if norm:
            l['norm_module'] = self.put(at, nn.BatchNorm2d(c))
            at += 1
        if l.get('norm') == 'spectral':
            nn.utils.spectral_norm(l['module'])
        at += act != 'none' and op != 'add'
        shapes.append((c, h, w, flat))
        return at

    def forward(self, x):
        out = []
        for i, l in enumerate(self.layers):
            y = out[l['in']] if l['in'] >= 0 else x
            op = l['op']
            if op == 'dense':
                y = l['module'](y.flatten(1))
            elif op == 'dropout':
                p = float(l.get('p', 0.5))
                if self.training:
                    y = y * dropout_mask(tuple(y.shape), p, i, self.seed, self.step).to(y.dtype) / (1 - p)
            elif op != 'add':
                y = l['module'](y)
            if 'after' in l:
                y = y + l['after'][:, None, None]
            if 'norm_module' in l:
                y = l['norm_module'](y if y.dim() == 4 else y[:, :, None, None])
                y = y if op != 'dense' else y.flatten(1)
            if l['add'] is not None:
                y = y + out[l['add']]
            act = l.get('act', 'none')
            y = {'none': lambda v: v, 'relu': F.relu, 'tanh': torch.tanh,
                 'leaky': lambda v: F.leaky_relu(v, float(l.get('slope', 0.2)))}[act](y)
            out.append(y)
        return out[-1]


class Classifier(Network):
    def __init__(self, text):
        sections = parse(text)
        model = sections['model']
        size, channels = size_of(model['size']), int(model.get('channels', 3))
        super().__init__(sections, 'C', (channels, *size))
        self.size, self.channels, self.classes = size, channels, self.width
        self.input, self.epsilon = model.get('input', 'signed'), float(model.get('epsilon', 0.001))
        self.train_options = sections.get('train', {})

    def forward(self, x):
        return super().forward(x).flatten(1)

    def whiten_by(self, pixels):
        """ZCA of these images (N, C, H, W); a network with input = zca applies it from then on."""
        x = pixels.double().flatten(1).numpy() / 255
        mean = x.mean(0)
        values, vectors = np.linalg.eigh((x - mean).T @ (x - mean) / len(x))
        weight = vectors / np.sqrt(values + self.epsilon) @ vectors.T
        self.whitening = [torch.from_numpy(v).to(pixels.dtype) for v in (weight, -weight @ mean)]

    def see(self, pixels, mean, std):
        """Images (N, C, H, W) of 0 to 255 as the network reads them."""
        if self.input == 'zca':
            weight, bias = self.whitening
            return (pixels.flatten(1) / 255 @ weight + bias).view_as(pixels)
        if self.input == 'signed':
            return pixels / 127.5 - 1
        if self.input == 'unit':
            return pixels / 255
        return pixels / (255 * std[:, None, None]) - (mean / std)[:, None, None]


def number(o, key, default):
    return float(o.get(key, default))


def optimizer(net):
    """The optimizer of [train]; decay for weights only, not biases and norms."""
    o = net.train_options
    name, lr, decay = o.get('optimizer', 'adam'), number(o, 'lr', 0.001), number(o, 'decay', 0)
    groups = [{'params': [p for p in net.parameters() if p.dim() > 1], 'weight_decay': decay},
              {'params': [p for p in net.parameters() if p.dim() == 1], 'weight_decay': 0}]
    eps = number(o, 'eps', 1e-8)
    if name == 'adam':
        return torch.optim.Adam(groups, lr=lr, betas=(number(o, 'beta1', 0.9), number(o, 'beta2', 0.999)), eps=eps)
    if name == 'sgd':
        return torch.optim.SGD(groups, lr=lr, momentum=number(o, 'momentum', 0), nesterov=o.get('nesterov') == 'yes')
    if name == 'adagrad':
        return torch.optim.Adagrad(groups, lr=lr, eps=eps, initial_accumulator_value=number(o, 'accumulator', 0))
    return torch.optim.Adadelta(groups, lr=lr, rho=number(o, 'rho', 0.9), eps=eps)


def settings(net):
    """The values of [train] for the metadata of an oracle, with all defaults."""
    o = net.train_options
    keys = dict(lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8, momentum=0, rho=0.9, decay=0, accumulator=0, smoothing=0)
    return dict({k: repr(number(o, k, v)) for k, v in keys.items()}, optimizer=o.get('optimizer', 'adam'),
                nesterov='1' if o.get('nesterov') == 'yes' else '0')
