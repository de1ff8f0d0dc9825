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


def generator(path):
    """The network of the file's model, with its weights, in evaluation mode."""
    with safe_open(path, 'pt') as f:
        model = configparser.ConfigParser(inline_comment_prefixes=(';', '#'))
        model.read_string(f.metadata()['model'])
    channels, modules, layers = [model.getint('model', 'latent', fallback=100)], [], []
    for name in sorted((s for s in model if s.startswith('G.')), key=lambda s: int(s[2:])):
        layer = dict(model['G'] if 'G' in model else {}, **model[name])
        source = int(layer['in'][2:]) if layer.get('in', '').startswith('G.') else len(layers)
        inputs, own = channels[source], len(modules)
        if layer.get('op', 'conv') == 'resample':
            modules.append(Resample(layer['scale']))
            layers.append(([own], source, None))
            channels.append(inputs)
            continue
        filters, kernel, stride = (int(layer.get(k, 1)) for k in ('filters', 'kernel', 'stride'))
        pad = int(layer.get('pad', (kernel - 1) // 2))
        bias = layer.get('bias', 'no') == 'yes'
        conv = {'conv': torch.nn.Conv2d, 'conv_transpose': torch.nn.ConvTranspose2d}[layer.get('op', 'conv')]
        modules.append(conv(inputs, filters, kernel, stride, pad, bias=bias, groups=int(layer.get('groups', 1))))
        if layer.get('norm') == 'batch':
            modules.append(torch.nn.BatchNorm2d(filters))
        if layer.get('act', 'none') != 'none':
            modules.append(ACT[layer['act']]())
        layers.append((range(own, len(modules)), source, int(layer['add'][2:]) if 'add' in layer else None))
        channels.append(filters)
    net = Generator(modules, layers)
    net.load_state_dict(load_file(path))
    return net.eval()


def main(weights, numbers=None, *images):
    if numbers is None:
        return print(generator(weights))
    with torch.no_grad():
        made = generator(weights)(load_file(numbers)['z'])
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
