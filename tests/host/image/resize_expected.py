#!/usr/bin/env python3
"""Write tests/host/image/resize_expected.h: what Pillow's resize and torchvision's Resize + CenterCrop make of noise.

    tests/host/image/resize_expected.py > tests/host/image/resize_expected.h

Needs Pillow before 13 (which sometimes resizes columns before rows: a difference of 1 in places). The sizes and
the noise are those of tests/host/image/test_resize.c.
"""
import sys
import zlib

import numpy as np
import PIL
from PIL import Image, ImageOps

BILINEAR = Image.Resampling.BILINEAR


def noise(seed, n):
    """noise_byte of tests/make_image.h"""
    with np.errstate(over="ignore"):
        i = np.arange(1, n + 1, dtype=np.uint32)
        v = i * np.uint32(2654435761) ^ np.uint32(seed * 2246822519 & 0xFFFFFFFF)
        v ^= v >> np.uint32(15)
        v *= np.uint32(2246822519)
        v ^= v >> np.uint32(13)
    return ((v >> np.uint32(11)) & np.uint32(255)).astype(np.uint8)


def picture(seed, w, h, c):
    a = noise(seed, w * h * c)
    return Image.fromarray(a.reshape(h, w, 3) if c == 3 else a.reshape(h, w))


def crop(im, size):
    """torchvision's Resize(size) and CenterCrop(size) on a PIL picture."""
    w, h = im.size
    if w <= h:
        w, h = size, int(size * h / w)
    else:
        w, h = int(size * w / h), size
    im = im.resize((w, h), BILINEAR)
    left, top = int(round((w - size) / 2.0)), int(round((h - size) / 2.0))
    return im.crop((left, top, left + size, top + size))


def pad(im, size):
    """ImageOps.pad, but a side of 0 is one of 1."""
    w, h = im.size
    if w >= h:
        w, h = size, max(1, round(h / w * size))
    else:
        w, h = max(1, round(w / h * size)), size
    out = Image.new(im.mode, (size, size))
    out.paste(im.resize((w, h), BILINEAR), (round((size - w) * 0.5), round((size - h) * 0.5)))
    return out


def crc(im, start=0):
    return zlib.crc32(np.ascontiguousarray(np.asarray(im)).tobytes(), start)


def case(i):
    """Case i: sizes from 1 to 200, few large steps and many small ones, as test_resize.c draws them."""
    n = noise(1000 + i, 9).astype(int)
    side = [1 + n[k] % (200 if n[k + 4] % 2 else 40) for k in range(4)]
    return side, 3 if n[8] % 2 else 1


def main():
    if int(PIL.__version__.split(".")[0]) >= 13:
        sys.exit("Pillow before 13 is needed")
    print(f"/* Made by tests/host/image/resize_expected.py with Pillow {PIL.__version__}. */")
    print("static const struct { int w, h, c, W, H; uint32_t crc; } resized[] = {")
    for seed, (w, h, c, W, H) in enumerate(
        [
            (1, 1, 3, 1, 1), (1, 1, 1, 64, 64), (2, 2, 3, 3, 3), (3, 2, 3, 2, 3), (64, 64, 3, 64, 64),
            (64, 64, 3, 32, 32), (32, 32, 3, 64, 64), (65, 63, 3, 64, 64), (500, 375, 3, 64, 64),
            (375, 500, 1, 64, 64), (1000, 7, 3, 64, 64), (7, 1000, 3, 64, 64), (64, 200, 3, 64, 100),
            (200, 64, 3, 100, 64), (1920, 1080, 3, 128, 72), (5, 5, 3, 1, 1), (17, 31, 1, 13, 256),
        ]
    ):
        im = picture(seed, w, h, c).resize((W, H), BILINEAR)
        print(f"    {{{w}, {h}, {c}, {W}, {H}, 0x{crc(im):08x}}},")
    print("};\nstatic const struct { int w, h, size; uint32_t crop, pad; } fitted[] = {")
    for seed, (w, h, size) in enumerate(
        [
            (64, 64, 64), (100, 50, 64), (50, 100, 64), (101, 50, 64), (99, 50, 33), (1, 300, 16), (300, 1, 16),
            (640, 427, 64), (427, 640, 128), (3, 2, 256), (17, 19, 32), (67, 64, 64), (64, 67, 64), (69, 64, 64),
        ]
    ):
        im = picture(100 + seed, w, h, 3)
        if max(w, h) < size * min(w, h):  # ImageOps.pad fails for thinner ones
            assert ImageOps.pad(im, (size, size), BILINEAR).tobytes() == pad(im, size).tobytes()
        print(f"    {{{w}, {h}, {size}, 0x{crc(crop(im, size)):08x}, 0x{crc(pad(im, size)):08x}}},")
    print("};\n/* All of 1,000 random pairs of sizes, a sum after each 100. */")
    print("static const uint32_t many[10] = {")
    total = 0
    for i in range(1000):
        (w, h, W, H), c = case(i)
        total = crc(picture(2000 + i, w, h, c).resize((W, H), BILINEAR), total)
        if i % 100 == 99:
            print(f"    0x{total:08x},")
    print("};")


main()
