#!/usr/bin/env python3
"""The generator of a run in PyTorch: it generates the images that dcgan generates from the same latents z.

    dcgan export samples/cats-dcgan64-paper --out generator.safetensors
    dcgan generate samples/cats-dcgan64-paper --seeds 7-9 --write-z z.safetensors --out images/
    python3 samples/pytorch.py generator.safetensors z.safetensors seed-7.png seed-8.png seed-9.png

Needs the packages torch, safetensors and pillow. The network is a module to be used as you like; `main` has its
layers in order."""
import configparser
import sys

try:
    import torch
    from PIL import Image
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import load_file
except ImportError as e:
    sys.exit(f'{sys.argv[0]}: {e}; it needs the packages torch, safetensors and pillow')

ACT = {'relu': torch.nn.ReLU, 'tanh': torch.nn.Tanh, 'leaky': lambda: torch.nn.LeakyReLU(0.2)}


class Resample(torch.nn.Module):
    """Doubles or halves images by the filter 1 3 3 1 in both directions; 0 outside."""

    def __init__(self, scale):
        super().__init__()
        self.up = scale == '2'

    def forward(self, x):
        line = torch.tensor([1, 3, 3, 1], dtype=x.dtype, device=x.device)
        kernel = (line[:, None] * line / (16 if self.up else 64)).expand(x.shape[1], 1, 4, 4)
        convolve = torch.nn.functional.conv_transpose2d if self.up else torch.nn.functional.conv2d
        return convolve(x, kernel, stride=2, padding=1, groups=x.shape[1])


class Generator(torch.nn.Module):
    """A layer is (numbers of its modules in main, number of the layer that it reads, layer to add or None)."""

    def __init__(self, modules, layers):
        super().__init__()
        self.main, self.layers = torch.nn.Sequential(*modules), layers

    def forward(self, z):
        outputs = [z]
        for numbers, source, other in self.layers:
            x = outputs[source]
            for n in numbers:
                if other is not None and type(self.main[n]) in (torch.nn.ReLU, torch.nn.Tanh, torch.nn.LeakyReLU):
                    x, other = x + outputs[other], None
                x = self.main[n](x)
            outputs.append(x if other is None else x + outputs[other])
        return outputs[-1]


def unrolled(model):
    """Each layer of G: its keys, the number of the layer that it reads, the layer to add or None; 0 is the input."""
    def place(name):
        number = int(name[2:])
        return begin if number == first - 1 else newest[number]

    count, first, newest, out = sum(name.startswith('G.') for name in model), 1, {}, []
    while first <= count:
        last = next((k for k in range(first, count + 1) if model[f'G.{k}'].get('repeat_from') == f'G.{first}'), first)
        for _ in range(int(model[f'G.{last}'].get('repeat', 1))):
            begin = len(out)
            for k in range(first, last + 1):
                own = model[f'G.{k}']
                source = place(own['in']) if own.get('in', '').startswith('G.') else len(out)
                other = place(own['add']) if 'add' in own else None
                out.append((dict(model['G'] if 'G' in model else {}, **own), source, other))
                newest[k] = len(out)
        first = last + 1
    return out


def generator(path):
    """The network of the file's model, with its weights, in evaluation mode."""
    with safe_open(path, 'pt') as f:
        model = configparser.ConfigParser(inline_comment_prefixes=(';', '#'))
        model.read_string(f.metadata()['model'])
    classes = model.getint('model', 'classes', fallback=0)
    if classes > 128:
        raise ValueError(f'classes = {classes}: at most 128')
    channels, modules, layers = [model.getint('model', 'latent', fallback=100) + classes], [], []
    for layer, source, other in unrolled(model):
        inputs, own = channels[source], len(modules)
        op, filters = layer.get('op', 'conv'), int(layer.get('filters', inputs))
        if op == 'resample':
            modules.append(Resample(layer['scale']))
        elif op in ('conv', 'conv_transpose'):
            kernel, stride, groups = (int(layer.get(k, 1)) for k in ('kernel', 'stride', 'groups'))
            conv = torch.nn.Conv2d if op == 'conv' else torch.nn.ConvTranspose2d
            modules.append(conv(inputs, filters, kernel, stride, int(layer.get('pad', (kernel - 1) // 2)),
                                groups=groups, bias=layer.get('bias', 'no') == 'yes'))
            if layer.get('norm') == 'batch':
                modules.append(torch.nn.BatchNorm2d(filters))
            if layer.get('act', 'none') != 'none':
                modules.append(ACT[layer['act']]())
        else:
            raise ValueError(f'op = {op}: not one of conv, conv_transpose and resample')
        layers.append((range(own, len(modules)), source, other))
        channels.append(inputs if op == 'resample' else filters)
    net = Generator(modules, layers)
    net.classes = classes
    net.load_state_dict(load_file(path))
    return net.eval()


def main(weights, numbers=None, *images):
    if numbers is None:
        return print(generator(weights))
    net, given = generator(weights), load_file(numbers)
    z = given['z']
    if net.classes:  # the input of a conditional generator: z, then 1 for the class
        one_hot = torch.nn.functional.one_hot(given['class'], net.classes)
        z = torch.cat([z, one_hot[:, :, None, None].to(z)], dim=1)
    with torch.no_grad():
        made = net(z)
    pixels = ((made + 1) * 127.5).round().clamp(0, 255).byte().permute(0, 2, 3, 1).numpy()
    for path, p in zip(images, pixels):
        Image.fromarray(p.squeeze()).save(path)


if __name__ == '__main__':
    if len(sys.argv) < 2 or len(sys.argv) == 3:
        sys.exit(f'usage: {sys.argv[0]} GENERATOR.safetensors [Z.safetensors IMAGE.png...]')
    try:
        main(*sys.argv[1:])
    except (OSError, KeyError, ValueError, RuntimeError, configparser.Error, SafetensorError) as e:
        sys.exit(f'{sys.argv[0]}: {e}; it reads what dcgan export and generate --write-z write')
