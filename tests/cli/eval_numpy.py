"""The metrics of `dcgan eval` that need no classifier, computed in numpy: eval_numpy.py REALS JUDGED RESULT.json
REALS and JUDGED are files of CIFAR records. Every number must equal that of the program to a relative 1e-4."""
import json
import sys

import numpy as np

JUDGE, WEIGHTS, PLACES, DIRECTIONS, SUBSETS, NEIGHBOURS = 9 << 56, 16, 32, 48, 64, 5


def philox(seed, subsequence, blocks):
    """Philox4x32-10: four words of each block."""
    b, mask = np.asarray(blocks, np.uint64), np.uint64(0xFFFFFFFF)
    sub = np.full(b.shape, subsequence, np.uint64)
    c = [b & mask, b >> np.uint64(32), sub & mask, sub >> np.uint64(32)]
    for r in range(10):
        k0, k1 = ((seed & 0xFFFFFFFF) + r * 0x9E3779B9) & 0xFFFFFFFF, ((seed >> 32) + r * 0xBB67AE85) & 0xFFFFFFFF
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & mask,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & mask]
    return np.stack(c, -1)


def normals(n, subsequence):
    w = philox(0, subsequence, np.arange((n + 3) // 4)).astype(float)
    u, v = w[:, ::2] / 2**32 + 2.0**-33, (w[:, 1::2] / 2**32 + 2.0**-33) * 2 * np.pi
    s = np.sqrt(-2 * np.log(u))
    return np.stack([s * np.sin(v), s * np.cos(v)], -1).reshape(-1)[:n]


def order(n, seed, subsequence):
    """Fisher and Yates, words below a bound by Lemire."""
    words = iter(philox(seed, subsequence, np.arange(2 * n)).reshape(-1).tolist())
    perm = list(range(n))
    for i in range(n - 1, 0, -1):
        product = next(words) * (i + 1)
        while product & 0xFFFFFFFF < (1 << 32) % (i + 1):
            product = next(words) * (i + 1)
        j = product >> 32
        perm[i], perm[j] = perm[j], perm[i]
    return perm


def blur(x, up=1):
    for axis in (1, 2):
        pad = [(2, 2) if a == axis else (0, 0) for a in range(4)]
        y, n = np.pad(x, pad, mode='reflect'), x.shape[axis]
        x = sum(w * np.take(y, range(k, k + n), axis) for k, w in enumerate((1, 4, 6, 4, 1))) / 16 * up
    return x


def sliced(a, b):
    """A distance for each level of the pyramids."""
    sets, out = [a.astype(float), b.astype(float)], []
    w = normals(128 * 49 * a.shape[3], JUDGE | DIRECTIONS).reshape(128, -1)
    w /= np.sqrt((w**2).sum(1, keepdims=True))
    for level in range(5):
        side, along = sets[0].shape[1], []
        more = side % 2 == 0 and side // 2 >= 16
        smaller = []
        for x in sets:
            if more:
                small = blur(x)[:, ::2, ::2]
                grown = np.zeros_like(x)
                grown[:, ::2, ::2] = small
                smaller.append(small)
                x = x - blur(grown, 2)
            place = philox(0, JUDGE | PLACES + level, np.arange(32 * len(x))).reshape(len(x), 64, 2)
            place = (place * np.uint64(side - 6) >> np.uint64(32)).astype(int)
            p = np.stack([[x[i, t:t + 7, l:l + 7] for t, l in place[i]] for i in range(len(x))])
            p = p.reshape(-1, 49, x.shape[3])
            p = (p - p.mean((0, 1))) / p.std((0, 1))
            along.append(np.sort(p.reshape(len(p), -1) @ w.T, axis=0))
        out.append(1000 * abs(along[0] - along[1]).mean())
        if not more:
            return out
        sets = smaller


def features(x):
    x, out = x / 127.5 - 1, []
    for i, width in enumerate((32, 64, 128, 256)):
        n, C = 9 * x.shape[3], x.shape[3]
        w = normals(width * n, JUDGE | WEIGHTS + i).reshape(width, n) * np.sqrt(2 / n)
        y, side = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), (x.shape[1] - 1) // 2 + 1
        window = [y[:, r:r + 2 * side:2, c:c + 2 * side:2][:, :side, :side] for r in range(3) for c in range(3)]
        x = np.concatenate(window, 3) @ w.T
        x = np.where(x > 0, x, 0.2 * x)
        if i > 1:
            out += [x.mean((1, 2)), x.std((1, 2))]
    return np.concatenate(out, 1)


def distances(a, b, own=False):
    d = np.maximum(0, (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T)
    return np.where(np.eye(len(a)) > 0, np.inf, d) if own else d


def frechet(a, b):
    a0, b0 = a - a.mean(0), b - b.mean(0)
    roots = np.linalg.svd(a0 @ b0.T, compute_uv=False).sum() / (len(a) - 1)
    return ((a.mean(0) - b.mean(0))**2).sum() + ((a0**2).sum() + (b0**2).sum()) / (len(a) - 1) - 2 * roots


def kid(a, b, seed):
    """Mean and standard deviation over 100 subsets."""
    n, values = min(len(a) // 2, 1000), []
    k = [(x @ y.T / a.shape[1] + 1)**3 for x, y in ((a, a), (b, b), (a, b))]
    for s in range(100):
        p, q = (order(len(a), seed, JUDGE | SUBSETS + 2 * s + side)[:n] for side in (0, 1))
        same = sum(m[np.ix_(i, i)].sum() - np.diag(m)[i].sum() for m, i in ((k[0], p), (k[1], q)))
        values.append(same / n / (n - 1) - 2 * k[2][np.ix_(p, q)].mean())
    return np.mean(values), np.std(values)


def compare(reals, held, other, own, seed):
    levels = sliced(reals, other)
    names = ('full', 'half', 'quarter', 'eighth', 'sixteenth')
    out = {'swd': np.mean(levels), **{'swd_' + k: v for k, v in zip(names, levels)}}
    r, h, o = features(reals), features(held), features(other)
    ball = [np.sort(distances(x, x, True), 1)[:, NEIGHBOURS - 1] for x in (r, o)]
    d, all_reals = distances(r, o), np.concatenate([r, h])
    out['random_frechet'] = frechet(r, o)
    out['recall'], out['coverage'] = (d < ball[1]).any(1).mean(), (d.min(1) < ball[0]).mean()
    near = np.minimum(distances(o, r).min(1), distances(o, h, own).min(1))
    out['nearest'] = np.sqrt(near).mean() / np.sqrt(distances(all_reals, all_reals, True).min(1)).mean()
    out['kid'], out['kid_deviation'] = kid(r, o, seed)
    return out


def images(path):
    x = np.frombuffer(open(path, 'rb').read(), np.uint8).reshape(-1, 3073)[:, 1:]
    return x.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


result = json.load(open(sys.argv[3]))
n, seed = result['count'], result['seed']
a, b = images(sys.argv[1]), images(sys.argv[2])
a, b = a[order(len(a), seed, JUDGE)], b[order(len(b), seed, JUDGE | 1)][:n]
reals, held = a[:n], a[n:2 * n]
metrics = {m['name']: m for m in result['metrics']}
for key, expected in (('judged', compare(reals, held, b, False, seed)),
                      ('real', compare(reals, held, held, True, seed))):
    deviation = expected.pop('kid_deviation')
    assert set(expected) == set(metrics), (sorted(expected), sorted(metrics))
    expected['kid', '_deviation'] = deviation
    for name, v in expected.items():
        name, kind = name if isinstance(name, tuple) else (name, '')
        got = metrics[name][key + kind]
        near = deviation if name == 'kid' else abs(v)
        assert abs(got - v) <= 1e-4 * near, f'{name} {key}{kind}: {got}, numpy has {v}'
