#!/usr/bin/env python3
"""Images of a trained network by libdcgan from Python, without any package:

    python3 samples/sample.py samples/cats-dcgan64-paper/checkpoint.safetensors 16 images/

LIBDCGAN names the library if it is not installed (./libdcgan.so.0)."""
import ctypes as c
import os
import sys


class Info(c.Structure):  # dcgan_info of dcgan.h
    _fields_ = [('model', c.c_char_p), ('size', c.c_int), ('channels', c.c_int), ('seed', c.c_uint64),
                ('step', c.c_uint64), ('epoch', c.c_uint64), ('classes', c.c_int)]


try:
    lib = c.CDLL(os.environ.get('LIBDCGAN', 'libdcgan.so.0'))
except OSError as e:
    sys.exit(f'{sys.argv[0]}: {e}; LIBDCGAN=./libdcgan.so.0 names the library')
lib.dcgan_message.restype = c.c_char_p
lib.dcgan_info_of.restype = Info


def call(name, *args):
    if getattr(lib, name)(*args):
        sys.exit(lib.dcgan_message().decode(errors='replace'))


def main(checkpoint, number, folder):
    backend, job, n = c.c_void_p(), c.c_void_p(), int(number)
    call('dcgan_open', None, c.byref(backend))
    call('dcgan_load', backend, os.fsencode(checkpoint), c.byref(job))
    info = lib.dcgan_info_of(job)
    each = info.size * info.size * info.channels
    pixels = (c.c_ubyte * (n * each))()
    call('dcgan_sample', job, c.c_uint64(0), n, pixels)
    for i in range(n):
        path = os.fsencode(os.path.join(folder, f'{i:04}.png'))
        call('dcgan_write_png', path, c.byref(pixels, i * each), info.size, info.size, info.channels)
    lib.dcgan_free(job)
    lib.dcgan_close(backend)


if len(sys.argv) != 4 or not sys.argv[2].isdecimal() or int(sys.argv[2]) < 1:
    sys.exit(f'usage: {sys.argv[0]} CHECKPOINT NUMBER FOLDER')
main(*sys.argv[1:])
