#!/usr/bin/env python3
"""Decode, turn, compose, resize and crop 1,128 generated pictures with ./dcgan and with Pillow; say how far apart
they are, and fail if it is more than it may be.

    scripts/pictures_vs_pil.py [DCGAN]        (needs numpy and Pillow)

The pixels of dcgan are read from the contact sheets that `dcgan data --sheet` writes.
"""
import io
import os
import subprocess
import sys
import tempfile

import numpy as np
import PIL
from PIL import Image, ImageOps

BILINEAR = Image.Resampling.BILINEAR
rng = np.random.default_rng(1)


def smooth(w, h, bands):
    """Colours that JPEG keeps well, and a little noise."""
    y, x = np.mgrid[0:h, 0:w]
    a = [40 + 160 * x / w, 40 + 160 * y / h, 60 + 80 * (x + y) / (w + h), 120 + 100 * np.sin(x / 5)][:bands]
    a = np.stack(a, 2) + rng.normal(0, 8, (h, w, bands))
    return np.clip(a, 0, 255).astype(np.uint8)


def jpeg(w, h, mode, orientation=1, **options):
    a = smooth(w, h, {"L": 1, "RGB": 3, "CMYK": 4}[mode])
    im = Image.fromarray(a[..., 0] if mode == "L" else a, mode)
    exif = Image.Exif()
    if orientation > 1:
        exif[0x0112] = orientation
    f = io.BytesIO()
    im.save(f, "JPEG", exif=exif, **options)
    return f.getvalue()


def png(im, **options):
    f = io.BytesIO()
    im.save(f, "PNG", **options)
    return f.getvalue()


def sheet(dcgan, files, size, *options):
    """What dcgan makes of these files (name -> bytes, at most 64): arrays in the order of names."""
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(f"{d}/in")
        for name, data in files.items():
            with open(f"{d}/in/{name}", "wb") as f:
                f.write(data)
        command = [dcgan, "data", f"{d}/in", "--size", str(size), "--channels", "3", "--sheet", f"{d}/s.png", *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        a = np.asarray(Image.open(f"{d}/s.png").convert("RGB"))
    cols = min(8, len(files))
    at = [(2 + (size + 2) * (i // cols), 2 + (size + 2) * (i % cols)) for i in range(len(files))]
    return [a[y : y + size, x : x + size] for y, x in at]


def compare(what, ours, theirs, limit):
    far = max(int(abs(a.astype(int) - np.asarray(b).astype(int)).max()) for a, b in zip(ours, theirs, strict=True))
    print(f"{what}: {len(ours)} pictures, largest difference {far} of 255, {limit} allowed")
    return len(ours), far <= limit


def jpeg_matrix(dcgan):
    for size in (8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 64, 65):
        files = {}
        for mode in ("L", "RGB", "CMYK"):
            for sampling in (0, 1, 2) if mode == "RGB" else (0,):
                for progressive in (False, True):
                    for quality in (30, 75, 95):
                        options = {"quality": quality, "progressive": progressive}
                        if mode == "RGB":
                            options["subsampling"] = sampling
                        files[f"{len(files):03}.jpg"] = jpeg(size, size, mode, **options)
        for orientation in range(1, 9):
            files[f"{len(files):03}.jpg"] = jpeg(size, size, "RGB", orientation, quality=90)
        theirs = [ImageOps.exif_transpose(Image.open(io.BytesIO(f))).convert("RGB") for f in files.values()]
        yield compare(f"JPEG {size} x {size}", sheet(dcgan, files, size), theirs, 2)


def crop(im, size):
    """torchvision's Resize and CenterCrop."""
    w, h = im.size
    w, h = (size, int(size * h / w)) if w <= h else (int(size * w / h), size)
    im = im.resize((w, h), BILINEAR)
    left, top = int(round((w - size) / 2)), int(round((h - size) / 2))
    return im.crop((left, top, left + size, top + size))


def fits(dcgan):
    how = {
        "crop": crop,
        "pad": lambda im, n: ImageOps.pad(im, (n, n), BILINEAR, color=0),
        "stretch": lambda im, n: im.resize((n, n), BILINEAR),
    }
    for size in (16, 64, 128):
        for fit, make in how.items():
            sides = rng.integers(20, 300, (64, 2))
            pictures = [Image.fromarray(smooth(int(w), int(h), 3)) for w, h in sides]
            files = {f"{i:03}.png": png(im) for i, im in enumerate(pictures)}
            limit = 0 if int(PIL.__version__.split(".")[0]) < 13 else 1  # Pillow 13 sometimes takes columns first
            yield compare(f"{fit} to {size}", sheet(dcgan, files, size, "--fit", fit),
                          [make(im, size) for im in pictures], limit)


def alphas(dcgan):
    size, files = 24, {}
    for i in range(32):
        a = rng.integers(0, 256, (size, size, 4)).astype(np.uint8)
        im = Image.fromarray(a)
        files[f"{i:03}.png"] = png(im if i % 3 == 0 else im.convert("LA") if i % 3 == 1 else im.quantize(16 + i))
    for alpha, back in (("drop", None), ("white", 255), ("black", 0)):
        theirs = []
        for data in files.values():
            im = Image.open(io.BytesIO(data))
            out = im.convert("RGB")
            if back is not None:
                full = im.convert("RGBA")
                out = Image.new("RGB", full.size, (back,) * 3)
                out.paste(full, mask=full.getchannel("A"))
            theirs.append(out)
        yield compare(f"alpha {alpha}", sheet(dcgan, files, size, "--alpha", alpha), theirs, 0)


def main():
    dcgan = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "./dcgan")
    print(f"Pillow {PIL.__version__}")
    results = [*jpeg_matrix(dcgan), *fits(dcgan), *alphas(dcgan)]
    good = sum(ok for _, ok in results)
    print(f"{sum(n for n, _ in results)} pictures; {good} passed, {len(results) - good} failed, 0 skipped")
    sys.exit(good != len(results))


main()
