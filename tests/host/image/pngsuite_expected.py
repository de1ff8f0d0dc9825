#!/usr/bin/env python3
"""Write tests/host/image/pngsuite_expected.h: for every good file of PngSuite its size and the CRC-32 of its RGB
pixels as Pillow gives them, with alpha dropped, on white and on black.

    tests/host/image/pngsuite_expected.py FOLDER > tests/host/image/pngsuite_expected.h

In two places Pillow's answer is not taken:
  * 16-bit grey: convert('RGB') clips 0..65535 to 0..255, so that nearly everything is white. The high byte is
    taken, as Pillow itself does for 16-bit colour and for 16-bit grey with alpha.
  * the transparent grey of a file with less than 8 bits: Pillow compares the key as stored (0..15) with samples
    already scaled to 0..255. The key is scaled, too.
"""
import glob
import os
import struct
import sys
import warnings
import zlib

import numpy as np
import PIL
from PIL import Image


def depth_and_key(path):
    """Bits a sample, and the grey of tRNS if the file is grey and has one."""
    data = open(path, "rb").read()
    depth, colour, at, key = data[24], data[25], 8, None
    while at < len(data):
        n, name = struct.unpack(">I4s", data[at : at + 8])
        if name == b"tRNS" and colour == 0:
            key = struct.unpack(">H", data[at + 8 : at + 10])[0]
        at += 12 + n
    return depth, key


def rgb_and_alpha(path):
    im = Image.open(path)
    im.load()
    depth, key = depth_and_key(path)
    if im.mode.startswith("I"):
        v = np.asarray(im).astype(np.int64)
        alpha = np.where(v == key, 0, 255) if key is not None else np.full(v.shape, 255)
        return np.repeat((v >> 8)[..., None], 3, 2), alpha
    rgb = np.asarray(im.convert("RGB")).astype(np.int64)
    if key is not None:
        alpha = np.where(rgb[..., 0] == key * 255 // (2**depth - 1), 0, 255)
    else:
        alpha = np.asarray(im.convert("RGBA"))[..., 3].astype(np.int64)
    return rgb, alpha


def crc(a):
    return zlib.crc32(np.ascontiguousarray(a.astype(np.uint8)).tobytes())


def on(background, rgb, alpha):
    """As Image.paste with a mask: rounded to nearest."""
    a = alpha[..., None]
    return (2 * (rgb * a + background * (255 - a)) + 255) // 510


def main():
    warnings.simplefilter("ignore")
    print(f"/* Made by tests/host/image/pngsuite_expected.py with Pillow {PIL.__version__}. */")
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.png"))):
        name = os.path.basename(path)
        if name.startswith("x"):
            continue
        rgb, alpha = rgb_and_alpha(path)
        print(
            f'{{"{name}", {rgb.shape[1]}, {rgb.shape[0]}, '
            f"{{0x{crc(rgb):08x}, 0x{crc(on(255, rgb, alpha)):08x}, 0x{crc(on(0, rgb, alpha)):08x}}}}},"
        )


main()
