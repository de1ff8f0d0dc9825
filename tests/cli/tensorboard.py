"""Reads events for TensorBoard by the formats' definitions alone: TFRecord (length, masked CRC-32C, data) and protocol
buffers (Event, Summary, Image), and holds them against the log and the grids of a run.

    tensorboard.py RUN [FIRST]    FIRST: the epoch of the first grid that is there
"""
import csv
import glob
import math
import struct
import sys


def crc32c(data):
    c = 0xffffffff
    for byte in data:
        c ^= byte
        for _ in range(8):
            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    return c ^ 0xffffffff


assert crc32c(b'123456789') == 0xe3069283  # RFC 3720's check value


def masked(data):
    c = crc32c(data)
    return ((c >> 15 | c << 17) + 0xa282ead8) & 0xffffffff


def records(b):
    at = 0
    while at < len(b):
        n, crc = struct.unpack_from('<QI', b, at)
        assert crc == masked(b[at:at + 8]), f'length at byte {at}'
        data = b[at + 12:at + 12 + n]
        # a checksum of an image takes long in pure Python: only the structure of its first bytes is checked
        if n < 4000:
            assert struct.unpack_from('<I', b, at + 12 + n)[0] == masked(data), f'data at byte {at}'
        yield data
        at += n + 16
    assert at == len(b), 'cut short'


def fields(b):
    at = 0

    def varint():
        nonlocal at
        v = shift = 0
        while True:
            byte = b[at]
            at += 1
            v |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return v

    while at < len(b):
        key = varint()
        wire = key & 7
        if wire == 0:
            v = varint()
        elif wire == 1:
            v, = struct.unpack_from('<d', b, at)
            at += 8
        elif wire == 5:
            v, = struct.unpack_from('<f', b, at)
            at += 4
        else:
            assert wire == 2, f'wire type {wire}'
            n = varint()
            v = b[at:at + n]
            assert len(v) == n
            at += n
        yield key >> 3, v


def pixels(png):
    """IHDR and IDAT: what remains without texts."""
    at, out = 8, b''
    while at < len(png):
        n, kind = struct.unpack_from('>I4s', png, at)
        if kind in (b'IHDR', b'IDAT'):
            out += png[at + 8:at + 8 + n]
        at += n + 12
    return out


def main():
    run = sys.argv[1]
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    events = list(records(open(run + '/events.out.tfevents.run', 'rb').read()))
    assert dict(fields(events[0]))[3] == b'brain.Event:2', 'version of the file'
    scalars, images, times = {}, {}, []
    for e in events[1:]:
        f = dict(fields(e))
        times.append(f[1])
        for number, value in fields(f[5]):
            assert number == 1
            v = dict(fields(value))
            if 2 in v:
                assert (f[2], v[1]) not in scalars, f'step {f[2]} twice'
                scalars[f[2], v[1]] = v[2]
            else:
                assert f[2] not in images, f'grid of step {f[2]} twice'
                images[f[2]] = v[1], dict(fields(v[4]))
    assert min(times) > 1.6e9
    rows = list(csv.DictReader(open(run + '/log.csv')))
    names = [n for n in rows[0] if n not in ('epoch', 'step', 'seconds')]
    wanted = {(int(r['step']), n.encode()): float(r[n]) for r in rows for n in names if r[n]}
    assert scalars.keys() == wanted.keys(), f'{len(scalars)} values, not {len(wanted)}'
    for k, v in wanted.items():
        assert math.isclose(scalars[k], v, rel_tol=2e-7, abs_tol=1e-37), f'{k}: {scalars[k]}, not {v}'
    ends = {int(r['epoch']): int(r['step']) for r in rows}
    grids = {}
    for path in glob.glob(run + '/epoch-*.png'):
        epoch = int(path[-8:-4])
        if epoch >= first:
            grids[ends[epoch]] = open(path, 'rb').read()
    assert images.keys() == grids.keys(), f'grids of steps {sorted(images)}, not {sorted(grids)}'
    for step, (tag, im) in images.items():
        assert tag == b'samples' and pixels(im[4]) == pixels(grids[step]), f'grid of step {step}'
        assert (im[2], im[1]) == struct.unpack_from('>II', im[4], 16), f'size of step {step}'
        assert im[3] in (1, 3)
    print(f'{len(scalars)} values, {len(images)} grids')


main()
