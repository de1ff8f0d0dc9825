#!/usr/bin/env python3
"""Reads an ONNX file as onnx.proto says and runs it with NumPy: independent of what wrote it.

    onnx_run.py image FILE.onnx z.safetensors IMAGES        each is what `generate` drew, within 1 of 255; its classes
                                                            are in the file, if there are classes
    onnx_run.py classes FILE.onnx answers.json              shares of its images, as `classify --json` says
    onnx_run.py logits FILE.onnx                            of the network D, of some image: shape and finite
    onnx_run.py judged FILE.onnx log.csv IMAGES             D's mean output for them is d_x of the log's first step
    onnx_run.py spectral FILE.onnx D.safetensors            the same; its weights are those of D by their sigma"""
import json
import struct
import sys

import numpy as np
import png
import st


def varint(b, i):
    value = shift = 0
    while True:
        value |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return value, i


def fields(b):
    """{field: [values]}; a length-delimited one stays bytes."""
    out, i = {}, 0
    while i < len(b):
        tag, i = varint(b, i)
        kind = tag & 7
        if kind == 0:
            value, i = varint(b, i)
        elif kind == 5:
            value, i = struct.unpack_from('<f', b, i)[0], i + 4
        else:
            assert kind == 2, kind
            n, i = varint(b, i)
            value, i = b[i:i + n], i + n
            assert len(value) == n
        out.setdefault(tag >> 3, []).append(value)
    return out


def attribute(b):
    f = fields(b)
    kind = f[20][0]
    return f[1][0].decode(), f[2][0] if kind == 1 else f[3][0] if kind == 2 else f[8]


def read(path):
    model = fields(open(path, 'rb').read())
    assert model[1] == [7] and fields(model[8][0])[2] == [13]
    graph = fields(model[7][0])
    weights = {}
    for t in map(fields, graph.get(5, [])):
        kind = {1: '<f4', 7: '<i8'}[t[2][0]]
        weights[t[8][0].decode()] = np.frombuffer(t[9][0], kind).reshape(t.get(1, []))
    nodes = []
    for n in map(fields, graph[1]):
        nodes.append(([s.decode() for s in n[1]], n[2][0].decode(), n[4][0].decode(),
                      dict(attribute(a) for a in n.get(5, []))))
    dims = [fields(d) for d in fields(fields(fields(fields(graph[11][0])[2][0])[1][0])[2][0])[1]]
    meta = {e[1][0].decode(): e[2][0].decode() for e in map(fields, model.get(14, []))}
    return {'nodes': nodes, 'weights': weights, 'in': fields(graph[11][0])[1][0].decode(), 'meta': meta,
            'dims': [d[1][0] for d in dims[1:]], 'out': fields(graph[12][0])[1][0].decode()}


def windows(x, a, fill):
    k, s, p = a['kernel_shape'][0], a['strides'][0], a['pads'][0]
    x = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)), constant_values=fill)
    v = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(2, 3))
    return v[:, :, ::s, ::s]


def transpose(x, w, a):
    k, s, p = a['kernel_shape'][0], a['strides'][0], a['pads'][0]
    n, _, h, wide = x.shape
    out = np.zeros((n, w.shape[1], (h - 1) * s + k, (wide - 1) * s + k))
    for i in range(k):
        for j in range(k):
            out[:, :, i:i + s * h:s, j:j + s * wide:s] += np.einsum('nihw,io->nohw', x, w[:, :, i, j])
    return out[:, :, p:out.shape[2] - p, p:out.shape[3] - p]


def doubled(x, b):
    n, c, h, w = x.shape
    x = x.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    return x.reshape(n, c // (b * b), h * b, w * b)


def channels(v, x):
    return v.reshape([1, -1] + [1] * (x.ndim - 2))


def run(o, x, label=None):
    values = {k: v.astype(np.float64) for k, v in o['weights'].items()}
    values.update({o['in']: np.asarray(x, np.float64), 'class': label})
    for names, out, kind, a in o['nodes']:
        v = [values[n] for n in names]
        x = v[0]
        if kind == 'Conv':
            g, seen = a.get('group', 1), windows(x, a, 0)
            y = np.concatenate([np.einsum('nchwij,ocij->nohw', s, w) for s, w in
                                zip(np.split(seen, g, 1), np.split(v[1], g))], 1)
        elif kind == 'ConvTranspose':
            y = transpose(x, v[1], a)
        elif kind == 'Gemm':
            y = x @ (v[1].T if a.get('transB') else v[1])
        elif kind == 'MaxPool':
            y = windows(x, a, -np.inf).max(axis=(4, 5))
        elif kind == 'AveragePool':
            assert a['count_include_pad'] == 1
            y = windows(x, a, 0).mean(axis=(4, 5))
        elif kind == 'BatchNormalization':
            gamma, beta, mean, var = (channels(t, x) for t in v[1:])
            y = (x - mean) / np.sqrt(var + a['epsilon']) * gamma + beta
        else:
            y = {'Relu': lambda: np.maximum(x, 0), 'LeakyRelu': lambda: np.where(x < 0, x * a['alpha'], x),
                 'Tanh': lambda: np.tanh(x), 'Flatten': lambda: x.reshape(len(x), -1), 'Identity': lambda: x,
                 'OneHot': lambda: v[2][0] + (v[2][1] - v[2][0]) * np.eye(int(v[1]))[x],
                 'Concat': lambda: np.concatenate(v, a['axis']), 'DepthToSpace': lambda: doubled(x, a['blocksize']),
                 'Add': lambda: x + v[1], 'Sub': lambda: x - v[1], 'Div': lambda: x / v[1],
                 'Reshape': lambda: x.reshape([int(d) or x.shape[i] for i, d in enumerate(v[1])])}[kind]()
        if kind in ('Conv', 'ConvTranspose', 'Gemm') and len(v) > 2:
            y = y + channels(v[2], y)
        values[out] = y
    return values[o['out']]


def pixels(path):
    """Of a PNG file: (C, H, W)."""
    w, h, c, values = png.read(path)
    return np.frombuffer(values, np.uint8).astype(int).reshape(h, w, c).transpose(2, 0, 1)


def tensor(path, name, kind='<f4'):
    entries, _, data = st.read(path)
    t = entries[name]
    return np.frombuffer(data[slice(*t['data_offsets'])], kind).reshape(t['shape'])


def main(what, path, *rest):
    o = read(path)
    if what == 'image':
        x = tensor(rest[0], 'z')
        y = run(o, x, tensor(rest[0], 'class', '<i8') if 'class.count' in o['weights'] else None)
        drawn = np.array([pixels(p) for p in rest[1:]])
        worst = np.abs(np.clip((y + 1) * 127.5, 0, 255) - drawn).max()
        assert worst < 0.51, worst
    elif what == 'classes':
        answers = json.load(open(rest[0]))
        x = np.array([pixels(a['path']) for a in answers])
        y = run(o, x)
        share = np.exp(y - y.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        names = o['meta']['classes'].split('\n')
        for a, s in zip(answers, share):
            for c in a['classes']:
                assert abs(s[names.index(c['class'])] - c['share']) < 1e-5, (a, s)
    elif what == 'judged':
        head, first = (line.split(',') for line in open(rest[0]).read().split('\n')[:2])
        y = run(o, np.array([pixels(p) for p in rest[1:]]) / 127.5 - 1)
        mean, logged = (1 / (1 + np.exp(-y))).mean(), float(first[head.index('d_x')])
        assert abs(mean - logged) < 1e-5 and y.std() > 0.01, (mean, logged, y.std())
    else:
        for name in o['weights'] if what == 'spectral' else ():
            w, u, v = (tensor(rest[0], name + part).astype(float) for part in ('_orig', '_u', '_v'))
            sigma = u @ w.reshape(len(u), -1) @ v
            assert abs(o['weights'][name] - w / sigma).max() < 1e-6 * abs(w / sigma).max(), name
        assert what != 'spectral' or o['weights'].keys() == {'main.0.weight', 'main.2.weight', 'main.4.weight'}
        x = np.random.default_rng(1).standard_normal([3] + o['dims'])
        y = run(o, x)
        assert y.shape == (3, 1 + int(o['meta'].get('classes', '').count('\n')), 1, 1), y.shape
    assert np.isfinite(y).all()


main(*sys.argv[1:])
