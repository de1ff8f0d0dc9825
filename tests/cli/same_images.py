#!/usr/bin/env python3
"""same_images.py MOST IMAGE PNG [IMAGE PNG]...: each image (PGM, PPM, PAM or PNG) has the pixels of a PNG of dcgan.

PNG@COLUMN is a column of a strip of one row, as `interpolate --scale 1` writes it. Values differ by at most MOST.
Prints the mean and the largest difference in grey levels. Of several images, one must differ from the first by more
than 4 * MOST on average, or the comparison would mean little. Needs no library."""
import sys

import png

GAP = 2


def image(path):
    b = open(path, 'rb').read()
    if b[:4] == b'\x89PNG':
        return png.read(path)
    if b[:2] == b'P7':
        head, pixels = b.split(b'ENDHDR\n', 1)
        of = dict(line.split(b' ') for line in head.split(b'\n')[1:] if line)
        return int(of[b'WIDTH']), int(of[b'HEIGHT']), int(of[b'DEPTH']), pixels
    kind, sides, most, pixels = b.split(b'\n', 3)
    assert most == b'255'
    w, h = map(int, sides.split())
    return w, h, {b'P5': 1, b'P6': 3}[kind], pixels


def of_dcgan(path, size):
    path, _, column = path.partition('@')
    w, h, c, pixels = png.read(path)
    if not column:
        return w, h, c, pixels
    left = GAP + int(column) * (size + GAP)
    assert h == size + 2 * GAP and left + size + GAP <= w, (path, w, h)
    rows = range(GAP, GAP + size)
    return size, size, c, b''.join(pixels[(y * w + left) * c:(y * w + left + size) * c] for y in rows)


def main(most, *paths):
    worst = total = count = 0
    unlike, first = [], None
    for ours, theirs in zip(paths[::2], paths[1::2]):
        a = image(ours)
        b = of_dcgan(theirs, a[0])
        assert a[:3] == b[:3] and len(a[3]) == len(b[3]), (ours, a[:3], theirs, b[:3])
        differences = [abs(x - y) for x, y in zip(a[3], b[3])]
        assert len(set(b[3])) > 1, theirs + ' has one colour'
        worst, total, count = max(worst, *differences), total + sum(differences), count + len(differences)
        first = first or b[3]
        unlike.append(sum(abs(x - y) for x, y in zip(first, b[3])) / len(first))
    print(f'{total / count:.4f} {worst}')
    assert worst <= float(most), f'{worst} grey levels'
    assert len(unlike) < 2 or max(unlike) > 4 * float(most), f'samples differ by {max(unlike):.2f} grey levels only'


main(*sys.argv[1:])
