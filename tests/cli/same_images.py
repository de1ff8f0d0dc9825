#!/usr/bin/env python3
"""same_images.py MOST IMAGE PNG [IMAGE PNG]...: each image (PGM, PPM or PAM) has the pixels of a PNG file of dcgan.

Values differ by at most MOST. Prints the mean and the largest difference in grey levels. Needs no library."""
import sys

import png


def netpbm(path):
    b = open(path, 'rb').read()
    if b[:2] == b'P7':
        head, pixels = b.split(b'ENDHDR\n', 1)
        of = dict(line.split(b' ') for line in head.split(b'\n')[1:] if line)
        return int(of[b'WIDTH']), int(of[b'HEIGHT']), int(of[b'DEPTH']), pixels
    kind, sides, most, pixels = b.split(b'\n', 3)
    assert most == b'255'
    w, h = map(int, sides.split())
    return w, h, {b'P5': 1, b'P6': 3}[kind], pixels


def main(most, *paths):
    worst = total = count = 0
    for ours, theirs in zip(paths[::2], paths[1::2]):
        a, b = netpbm(ours), png.read(theirs)
        assert a[:3] == b[:3] and len(a[3]) == len(b[3]), (ours, a[:3], theirs, b[:3])
        differences = [abs(x - y) for x, y in zip(a[3], b[3])]
        assert len(set(b[3])) > 1, theirs + ' has one colour'
        worst, total, count = max(worst, *differences), total + sum(differences), count + len(differences)
    print(f'{total / count:.4f} {worst}')
    assert worst <= float(most), f'{worst} grey levels'


main(*sys.argv[1:])
