'use strict';
/* Runs the generator of an exported page, in a Web Worker or in node: openGenerator(network, weights).make(state).
   `network` is the JSON of the page. `weights` is base64 text: per layer and output channel a scale (unless the weights
   are fp32) and the weights in the order kernel row, kernel column, input channel, then the biases of the layer. Maps
   are rows of pixels of channels; kernel is height and width. */

const BLOCK = 4; // output channels that are computed together

function bytesOf(base64) {
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
}

function half(bits) {
    const exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const value = exponent ? (1024 + mantissa) * 2 ** (exponent - 25) : mantissa * 2 ** -24;
    return bits >> 15 ? -value : value;
}

function readerOf(bytes, type) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    const float = () => view.getFloat32((at += 4) - 4, true);
    const halves = type === 'fp16' ? Float32Array.from({length: 65536}, (_, bits) => half(bits)) : null;
    const weight = {
        fp32: float,
        fp16: () => halves[view.getUint16((at += 2) - 2, true)],
        int8: () => view.getInt8(at++),
    }[type];
    return {float, weight, scale: () => type === 'fp32' ? 1 : float()};
}

/* Weights in the order group, block of output channels, product, channel of the block. Incomplete blocks have zeros. */
function readLayer(l, read) {
    const channels = l.out[2], each = channels / l.groups, n = l.kernel[0] * l.kernel[1] * l.in[2] / l.groups;
    l.blocks = Math.ceil(each / BLOCK);
    l.w = new Float32Array(l.weights ? l.groups * l.blocks * n * BLOCK : 0);
    l.b = new Float32Array(channels);
    for (let c = 0; c < channels && l.weights; c++) {
        const scale = read.scale(), block = Math.floor(c / each) * l.blocks + Math.floor(c % each / BLOCK);
        let to = block * n * BLOCK + c % each % BLOCK;
        for (let i = 0; i < n; i++, to += BLOCK) l.w[to] = scale * read.weight();
    }
    for (let c = 0; c < channels && l.biases; c++) l.b[c] = read.float();
    l.rows = taps(l, l.kernel[0], l.out[0], l.in[0]);
    l.columns = taps(l, l.kernel[1], l.out[1], l.in[1]);
    l.y = new Float32Array(l.out[0] * l.out[1] * channels);
}

/* For each output row or column: pairs of a kernel row or column and the input row or column that it reads. */
function taps(l, kernel, outputs, inputs) {
    return Array.from({length: outputs}, (_, at) => {
        const pairs = [];
        for (let k = 0; k < kernel; k++) {
            const from = l.op === 'conv_transpose' ? (at + l.pad - k) / l.stride : at * l.stride - l.pad + k;
            if (Number.isInteger(from) && from >= 0 && from < inputs) pairs.push(k, from);
        }
        return Int32Array.from(pairs);
    });
}

function convolve(l, x) {
    const width = l.in[1], channels = l.in[2], outputs = l.out[2], across = l.kernel[1], w = l.w, y = l.y;
    const n = channels / l.groups, each = outputs / l.groups;
    for (let block = 0; block < l.groups * l.blocks; block++) {
        const group = Math.floor(block / l.blocks), first = block % l.blocks * BLOCK;
        const some = Math.min(BLOCK, each - first), own = block * l.kernel[0] * across * n * BLOCK;
        for (let row = 0, to = group * each + first; row < l.out[0]; row++)
            for (let column = 0; column < l.out[1]; column++, to += outputs) {
                const rows = l.rows[row], columns = l.columns[column];
                let a = 0, b = 0, c = 0, d = 0;
                for (let k = 0; k < rows.length; k += 2)
                    for (let m = 0; m < columns.length; m += 2) {
                        let from = (rows[k + 1] * width + columns[m + 1]) * channels + group * n;
                        let at = own + (rows[k] * across + columns[m]) * n * BLOCK;
                        for (const end = from + n; from < end; from++, at += BLOCK) {
                            const v = x[from];
                            a += v * w[at];
                            b += v * w[at + 1];
                            c += v * w[at + 2];
                            d += v * w[at + 3];
                        }
                    }
                y[to] = a;
                if (some > 1) y[to + 1] = b;
                if (some > 2) y[to + 2] = c;
                if (some > 3) y[to + 3] = d;
            }
    }
}

function pool(l, x, max) {
    const channels = l.out[2];
    let to = 0;
    for (const rows of l.rows)
        for (const columns of l.columns)
            for (let c = 0; c < channels; c++) {
                let sum = 0, largest = -Infinity;
                for (let k = 1; k < rows.length; k += 2)
                    for (let m = 1; m < columns.length; m += 2) {
                        const v = x[(rows[k] * l.in[1] + columns[m]) * channels + c];
                        sum += v;
                        largest = Math.max(largest, v);
                    }
                l.y[to++] = max ? largest : sum / (l.kernel[0] * l.kernel[1]);
            }
}

/* The filter 1 3 3 1 in both directions. Pixels outside of the map are 0. */
function resample(l, x, halves) {
    const channels = l.out[2];
    const factors = at => halves ? [0.125, 0.375, 0.375, 0.125] : at % 2 ? [0.75, 0.25] : [0.25, 0.75];
    const first = at => (halves ? 2 * at : Math.floor((at + 1) / 2)) - 1;
    l.y.fill(0);
    for (let row = 0, to = 0; row < l.out[0]; row++)
        for (let column = 0; column < l.out[1]; column++, to += channels)
            factors(row).forEach((down, k) => factors(column).forEach((across, m) => {
                const above = first(row) + k, left = first(column) + m, factor = down * across;
                if (above < 0 || above >= l.in[0] || left < 0 || left >= l.in[1]) return;
                const from = (above * l.in[1] + left) * channels;
                for (let c = 0; c < channels; c++) l.y[to + c] += factor * x[from + c];
            }));
}

const ops = {
    conv: convolve,
    conv_transpose: convolve,
    max_pool: (l, x) => pool(l, x, true),
    mean_pool: (l, x) => pool(l, x, false),
    double: (l, x) => resample(l, x, false),
    halve: (l, x) => resample(l, x, true),
    copy: (l, x) => l.y.set(x),
};

const acts = {
    none: v => v,
    relu: v => v < 0 ? 0 : v,
    leaky: (v, slope) => v < 0 ? v * slope : v,
    tanh: v => Math.tanh(v),
};

/* Bias, sum with another layer, activation. */
function finish(l, add) {
    const act = acts[l.act], channels = l.out[2], y = l.y;
    for (let i = 0; i < y.length; i++) y[i] = act(y[i] + l.b[i % channels] + (add ? add[i] : 0), l.slope);
}

/* The upper 32 bits of a product of two 32-bit numbers. */
function high(a, b) {
    const low = (a & 0xffff) * (b & 0xffff), middle = (a >>> 16) * (b & 0xffff) + Math.floor(low / 65536);
    const rest = (a & 0xffff) * (b >>> 16) + middle % 65536;
    return (a >>> 16) * (b >>> 16) + Math.floor(middle / 65536) + Math.floor(rest / 65536);
}

/* Philox4x32-10 (Salmon et al. 2011): four random 32-bit numbers. key: low and high word. */
function philox(key, counter) {
    let [c0, c1, c2, c3] = counter, [k0, k1] = key;
    for (let round = 0; round < 10; round++) {
        const low0 = Math.imul(0xD2511F53, c0) >>> 0, low1 = Math.imul(0xCD9E8D57, c2) >>> 0;
        [c0, c2] = [(high(0xCD9E8D57, c2) ^ c1 ^ k0) >>> 0, (high(0xD2511F53, c0) ^ c3 ^ k1) >>> 0];
        [c1, c3] = [low1, low0];
        k0 = k0 + 0x9E3779B9 >>> 0;
        k1 = k1 + 0xBB67AE85 >>> 0;
    }
    return [c0, c1, c2, c3];
}

/* The latent vector of a seed, a whole number below 2^53: that of `dcgan generate`, by Box-Muller. */
function latentOf(network, seed) {
    const STREAM = 4 << 24, z = new Float32Array(network.latent), round = Math.fround;
    const unit = 2 ** -32, turn = round(6.2831855) * unit;
    let word;
    for (let i = 0; i < z.length; i++) {
        if (i % 4 === 0) word = philox(network.seed, [i / 4, 0, seed >>> 0, STREAM | Math.floor(seed / 2 ** 32)]);
        const k = i % 4 & 2;
        const radius = round(Math.sqrt(round(-2 * round(Math.log(round(round(word[k]) * unit + unit / 2))))));
        const angle = round(round(word[k + 1]) * turn + turn / 2);
        z[i] = radius * round(i % 2 ? Math.cos(angle) : Math.sin(angle));
    }
    return z;
}

/* The class of a seed in `dcgan generate`, or -1 for a generator without classes. */
function classOf(network, seed) {
    const images = network.classImages.map(BigInt), all = images.reduce((a, b) => a + b, 0n);
    const fraction = BigInt.asUintN(64, (BigInt(seed) + 1n) * 0x9e3779b97f4a7c15n) >> 32n;
    let at = fraction * all >> 32n, c = 0;
    while (c < images.length && at >= images[c]) at -= images[c++];
    return images.length ? c : -1;
}

/* Weights of a and b at t from 0 to 1 on the great circle (Shoemake 1985), as in `dcgan interpolate`. */
function arc(a, b, t) {
    let aa = 0, bb = 0, ab = 0;
    for (let i = 0; i < a.length; i++) {
        aa += a[i] * a[i];
        bb += b[i] * b[i];
        ab += a[i] * b[i];
    }
    const angle = Math.acos(Math.max(-1, Math.min(1, aa > 0 && bb > 0 ? ab / Math.sqrt(aa * bb) : 1)));
    const sine = Math.sin(angle);
    return sine > 1e-6 ? [Math.sin((1 - t) * angle) / sine, Math.sin(t * angle) / sine] : [1 - t, t];
}

/* state: seed; class (number, or null: that of the seed); to (a seed, or null) and t: a walk to another seed; shifts:
   components along directions, or null. Returns the input of G, and the components along all directions. */
function inputOf(network, state) {
    const classes = network.classImages.length, input = new Float32Array(network.latent + classes);
    const z = latentOf(network, state.seed);
    const hot = (seed, share) => {
        if (classes) input[network.latent + (state.class ?? classOf(network, seed))] += share;
    };
    if (state.to === null) hot(state.seed, 1);
    else {
        const other = latentOf(network, state.to), [own, share] = arc(z, other, state.t);
        z.forEach((v, i) => { z[i] = own * v + share * other[i]; });
        hot(state.seed, 1 - state.t);
        hot(state.to, state.t);
    }
    const along = network.directions.map((v, d) => {
        const natural = v.reduce((sum, value, i) => sum + value * z[i], 0), wanted = state.shifts[d] ?? natural;
        if (wanted !== natural) v.forEach((value, i) => { z[i] += (wanted - natural) * value; });
        return wanted;
    });
    input.set(z);
    return {input, along};
}

function openGenerator(network, weights) {
    const layers = network.layers.map(l => ({...l}));
    const read = readerOf(bytesOf(weights), network.weights);
    for (const l of layers) {
        if (!ops[l.op] || !acts[l.act]) throw new Error(`unknown layer: ${l.op}, ${l.act}`);
        readLayer(l, read);
    }
    /* Returns the image's bytes: rows of pixels of channels. */
    function make(state) {
        const {input, along} = inputOf(network, state);
        for (const l of layers) {
            ops[l.op](l, l.input < 0 ? input : layers[l.input].y);
            finish(l, l.add < 0 ? null : layers[l.add].y);
        }
        const pixels = Uint8Array.from(layers[layers.length - 1].y,
            x => Math.max(0, Math.min(255, Math.floor((x + 1) * 127.5 + 0.5))) || 0);
        return {pixels, along};
    }
    return {make};
}

/* In a worker: the first message has network and weights, each later one a state. Every message is answered. */
function serve(scope) {
    let generator = null;
    scope.onmessage = ({data}) => {
        try {
            if (!generator) {
                generator = openGenerator(data.network, data.weights);
                scope.postMessage({ready: true});
                return;
            }
            scope.postMessage(generator.make(data));
        } catch (e) {
            scope.postMessage({error: String(e)});
        }
    };
}
