#!/usr/bin/env python3
"""The generator of a run in PyTorch: it generates the images that dcgan generates from the same latents z.

    dcgan export samples/cats-dcgan64-paper --out generator.safetensors
    dcgan generate samples/cats-dcgan64-paper --seeds 7-9 --write-z z.safetensors --out images/
    python3 samples/pytorch.py generator.safetensors z.safetensors seed-7.png seed-8.png seed-9.png

Needs the packages torch, safetensors and pillow. The network is a plain nn.Sequential, to be used as you like."""
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


def generator(path):
    """The network of the file's model, with its weights, in evaluation mode."""
    with safe_open(path, 'pt') as f:
        model = configparser.ConfigParser(inline_comment_prefixes=(';', '#'))
        model.read_string(f.metadata()['model'])
    inputs, modules = model.getint('model', 'latent', fallback=100), []
    for name in sorted((s for s in model if s.startswith('G.')), key=lambda s: int(s[2:])):
        layer = dict(model['G'] if 'G' in model else {}, **model[name])
        filters, kernel, stride = (int(layer.get(k, 1)) for k in ('filters', 'kernel', 'stride'))
        pad = int(layer.get('pad', (kernel - 1) // 2))
        bias = layer.get('bias', 'no') == 'yes'
        modules.append(torch.nn.ConvTranspose2d(inputs, filters, kernel, stride, pad, bias=bias))
        if layer.get('norm') == 'batch':
            modules.append(torch.nn.BatchNorm2d(filters))
        if layer.get('act', 'none') != 'none':
            modules.append(ACT[layer['act']]())
        inputs = filters
    net = torch.nn.Module()
    net.main = torch.nn.Sequential(*modules)
    net.load_state_dict(load_file(path))
    return net.eval().main


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
