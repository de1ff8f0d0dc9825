'use strict';
/* The page of an exported generator: its state is in the address, and a worker makes the images. */

const byId = id => document.getElementById(id);
const network = JSON.parse(byId('network').textContent);
const COUNT = 16, LARGEST = Number.MAX_SAFE_INTEGER;

/* The shown image, and the first seed of the grid. class: null is the class of each seed. */
const state = {seed: 0, first: 0, class: null, to: null, t: 0, shifts: {}};

function number(text, min, max) {
    const value = Number(text);
    return text !== null && text.trim() !== '' && value >= min && value <= max ? value : null;
}
const whole = text => text !== null && /^[0-9]+$/.test(text.trim()) ? number(text, 0, LARGEST) : null;

function readAddress() {
    const given = new URLSearchParams(location.hash.slice(1)), index = whole(given.get('class'));
    state.seed = whole(given.get('seed')) ?? 0;
    state.first = whole(given.get('grid')) ?? state.seed;
    state.class = index !== null && index < network.classes.length ? index : null;
    state.to = whole(given.get('to'));
    state.t = state.to === null ? 0 : number(given.get('t'), 0, 1) ?? 0;
    state.shifts = {};
    network.directions.forEach((_, d) => {
        const value = number(given.get(`d${d + 1}`), -10, 10);
        if (value !== null) state.shifts[d] = value;
    });
}

/* The text of the address: what differs from the sample of a seed. */
function settings() {
    const text = [];
    if (state.class !== null) text.push(`class=${state.class}`);
    if (state.to !== null) text.push(`to=${state.to}`, `t=${state.t}`);
    for (const d of Object.keys(state.shifts)) text.push(`d${Number(d) + 1}=${state.shifts[d]}`);
    return text;
}

/* Browsers limit how often the address may change, so it changes 0.3 s after the last change of the state. */
let addressTimer = 0;
function writeAddress() {
    clearTimeout(addressTimer);
    addressTimer = setTimeout(() => {
        const text = [`seed=${state.seed}`, ...settings()];
        if (state.first !== state.seed) text.push(`grid=${state.first}`);
        history.replaceState(null, '', `#${text.join('&')}`);
    }, 300);
}

/* The worker makes one image at a time. The newest request for a place replaces older ones, and the shown image comes
   before the grid. */
const waiting = new Map();
let worker = null, running = null, failed = false;

function startWorker() {
    const code = `${byId('generator').textContent}\nserve(self);\n`;
    try {
        worker = new Worker(URL.createObjectURL(new Blob([code], {type: 'text/javascript'})));
    } catch (e) {
        fail(e);
        return;
    }
    worker.onmessage = ({data}) => {
        const done = running;
        running = null;
        if (data.error) fail(data.error);
        else if (done) done.show(data, done.wanted);
        sendNext();
    };
    worker.onerror = e => fail(e.message);
    running = {show: () => {}};
    worker.postMessage({network, weights: byId('weights').textContent});
}

function fail(why) {
    failed = true;
    byId('busy').textContent = `This browser cannot run the generator: ${why}`;
}

function sendNext() {
    if (failed) return;
    byId('busy').textContent = waiting.size > 1 ? `${waiting.size} images to make` : '';
    const [place] = waiting.has('image') ? ['image'] : waiting.keys();
    if (running || place === undefined) return;
    running = waiting.get(place);
    waiting.delete(place);
    worker.postMessage(running.wanted);
}

function ask(place, wanted, show) {
    waiting.set(place, {wanted, show});
    sendNext();
}

function draw(canvas, pixels) {
    const {width, height, channels} = network, image = new ImageData(width, height);
    for (let i = 0; i < width * height; i++) {
        for (let c = 0; c < 3; c++) image.data[4 * i + c] = pixels[channels * i + (channels < 3 ? 0 : c)];
        image.data[4 * i + 3] = channels === 4 ? pixels[4 * i + 3] : 255;
    }
    Object.assign(canvas, {width, height});
    canvas.getContext('2d').putImageData(image, 0, 0);
}

function wantedOf(seed) {
    return {seed, class: state.class, to: null, t: 0, shifts: {}};
}

let shown = null; // pixels and settings of the image on the page

function showImage() {
    const wanted = {...wantedOf(state.seed), to: state.to, t: state.t, shifts: {...state.shifts}};
    const seed = state.seed, changes = settings().join('&');
    ask('image', wanted, ({pixels, along}) => {
        shown = {pixels, seed, changes};
        draw(byId('image'), pixels);
        byId('image').setAttribute('aria-label', `sample of seed ${seed}`);
        byId('caption').textContent = `seed ${seed}${changes ? `, ${changes.replaceAll('&', ', ')}` : ''}`;
        along.forEach((value, d) => {
            const slider = byId(`d${d}`);
            if (document.activeElement !== slider || !(d in state.shifts)) slider.value = value;
            slider.nextElementSibling.textContent = Number(value).toFixed(2);
        });
        dispatchEvent(new Event('shown'));
    });
}

function showGrid() {
    [...byId('grid').children].forEach((button, i) => {
        const seed = state.first + i;
        button.title = `seed ${seed}`;
        button.disabled = seed > LARGEST;
        if (seed > LARGEST) return;
        ask(`grid ${i}`, wantedOf(seed), ({pixels}) => draw(button.firstChild, pixels));
    });
}

/* Shows the state. grid: also makes the images of the grid. */
function update(grid) {
    byId('seed').value = state.seed;
    byId('to').value = state.to ?? '';
    byId('t').value = state.t;
    [...byId('class-buttons').children].forEach((button, i) =>
        button.setAttribute('aria-pressed', String((state.class ?? -1) === i - 1)));
    [...byId('grid').children].forEach((button, i) =>
        button.setAttribute('aria-pressed', String(state.first + i === state.seed)));
    writeAddress();
    showImage();
    if (grid) showGrid();
}

function choose(seed) {
    Object.assign(state, {seed: Math.max(0, Math.min(LARGEST, seed)), t: 0, shifts: {}});
    const inside = state.seed >= state.first && state.seed < state.first + COUNT;
    if (!inside) state.first = state.seed;
    update(!inside);
}

function newSamples() {
    state.first = Math.floor(Math.random() * 2 ** 31);
    Object.assign(state, {seed: state.first, to: null, t: 0, shifts: {}});
    update(true);
}

function reset() {
    Object.assign(state, {to: null, t: 0, shifts: {}});
    update(false);
}

/* Walks to another seed and back, one frame after another, until the button is pressed again. */
let walking = false;
async function play() {
    walking = !walking;
    byId('play').textContent = walking ? 'Stop' : 'Play';
    if (walking && state.to === null) state.to = Math.min(LARGEST, state.seed + 1);
    for (let step = Math.round(state.t * 50), way = step === 50 ? -1 : 1; walking && !failed && state.to !== null;) {
        step += way;
        if (step >= 50 || step <= 0) way = -way;
        state.t = step / 50;
        const done = new Promise(resolve => addEventListener('shown', resolve, {once: true}));
        update(false);
        await done;
        await new Promise(resolve => setTimeout(resolve, 30));
    }
    walking = false;
    byId('play').textContent = 'Play';
}

const crcTable = Uint32Array.from({length: 256}, (_, n) => {
    for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ n >>> 1 : n >>> 1;
    return n;
});

/* A PNG chunk: length, kind, data, checksum. */
function chunk(kind, data) {
    const bytes = new Uint8Array(data.length + 12), view = new DataView(bytes.buffer);
    view.setUint32(0, data.length);
    bytes.set([...kind].map(c => c.charCodeAt(0)), 4);
    bytes.set(data, 8);
    let crc = 0xffffffff;
    for (let i = 4; i < bytes.length - 4; i++) crc = crcTable[(crc ^ bytes[i]) & 255] ^ crc >>> 8;
    view.setUint32(bytes.length - 4, ~crc >>> 0);
    return bytes;
}

/* A zlib stream without compression. */
function stored(data) {
    const LONGEST = 65535, parts = [Uint8Array.of(0x78, 1)];
    let a = 1, b = 0;
    for (let at = 0; at < data.length; at += LONGEST) {
        const part = data.subarray(at, at + LONGEST), n = part.length;
        parts.push(Uint8Array.of(at + n === data.length ? 1 : 0, n & 255, n >> 8, ~n & 255, ~n >> 8 & 255), part);
    }
    for (const v of data) {
        a = (a + v) % 65521;
        b = (b + a) % 65521;
    }
    parts.push(Uint8Array.of(b >> 8, b & 255, a >> 8, a & 255));
    return parts;
}

function joined(parts) {
    const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
    parts.reduce((at, p) => (all.set(p, at), at + p.length), 0);
    return all;
}

/* An image as PNG, with the texts of `dcgan generate`. */
function png(pixels, texts) {
    const {width, height, channels} = network, line = width * channels, rows = new Uint8Array(height * (line + 1));
    for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * line, (y + 1) * line), y * (line + 1) + 1);
    const head = new Uint8Array(13), view = new DataView(head.buffer);
    view.setUint32(0, width);
    view.setUint32(4, height);
    head.set([8, {1: 0, 3: 2, 4: 6}[channels]], 8);
    const ascii = text => Uint8Array.from(text, c => c < ' ' || c > '~' ? 95 : c.charCodeAt(0));
    return joined([Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10), chunk('IHDR', head),
        ...texts.map(([key, value]) => chunk('tEXt', joined([ascii(key), Uint8Array.of(0), ascii(value)]))),
        chunk('IDAT', joined(stored(rows))), chunk('IEND', new Uint8Array(0))]);
}

function save() {
    if (!shown) return;
    const name = shown.changes ? `${shown.seed} (${shown.changes})` : String(shown.seed);
    const list = Object.entries(network.texts).map(([key, value]) => [key, value ?? name]);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([png(shown.pixels, list)], {type: 'image/png'}));
    link.download = `seed-${String(shown.seed).padStart(4, '0')}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function addControls() {
    for (let i = 0; i < COUNT; i++) {
        const button = document.createElement('button');
        button.append(document.createElement('canvas'));
        button.onclick = () => choose(state.first + i);
        byId('grid').append(button);
    }
    ['of the seed', ...network.classes].forEach((name, i) => {
        const button = document.createElement('button');
        button.textContent = name;
        button.onclick = () => {
            state.class = i ? i - 1 : null;
            update(true);
        };
        byId('class-buttons').append(button);
    });
    byId('classes').hidden = !network.classes.length;
    network.directions.forEach((_, d) => {
        const label = document.createElement('label'), slider = document.createElement('input');
        Object.assign(slider, {id: `d${d}`, type: 'range', min: -3, max: 3, step: 0.01});
        slider.oninput = () => {
            state.shifts[d] = Number(slider.value);
            update(false);
        };
        label.append(String(d + 1), slider, document.createElement('output'));
        byId('sliders').append(label);
    });
    byId('directions').hidden = !network.directions.length;
}

function listen() {
    byId('previous').onclick = () => choose(state.seed - 1);
    byId('next').onclick = () => choose(state.seed + 1);
    byId('new').onclick = newSamples;
    byId('save').onclick = save;
    byId('play').onclick = play;
    byId('reset').onclick = reset;
    byId('t').oninput = () => {
        state.to ??= Math.min(LARGEST, state.seed + 1);
        state.t = Number(byId('t').value);
        update(false);
    };
    byId('seed').onchange = () => {
        const seed = whole(byId('seed').value);
        byId('seed').setCustomValidity(seed === null ? 'a whole number' : '');
        if (seed !== null) choose(seed);
    };
    byId('to').onchange = () => {
        state.to = whole(byId('to').value);
        if (state.to === null) state.t = 0;
        update(false);
    };
    addEventListener('hashchange', () => {
        clearTimeout(addressTimer);
        readAddress();
        update(true);
    });
    addEventListener('keydown', e => {
        const typing = e.target.matches('input:not([type=range])'), range = e.target.matches('input[type=range]');
        if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
        const actions = {n: newSamples, s: save, w: play, 0: reset};
        if (!range) Object.assign(actions, {arrowleft: byId('previous').onclick, arrowright: byId('next').onclick});
        if (!e.target.matches('button')) actions[' '] = newSamples;
        const action = actions[e.key.toLowerCase()];
        if (!action) return;
        e.preventDefault();
        action();
    });
}

byId('title').textContent = network.name;
document.documentElement.style.setProperty('--aspect', Math.min(1, network.width / network.height));
byId('about').textContent = network.about;
readAddress();
addControls();
listen();
startWorker();
update(true);
