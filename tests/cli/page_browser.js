'use strict';
/* node page_browser.js [--controls] CHROMIUM PAGE.html OUT STATE...: like page_run.js, but in headless Chromium, by the
   page's own worker. Prints the mean processor time per image in milliseconds. Also checks the width on a phone, and
   with --controls each control of the page. Writes OUT-saved.png (the saved sample of seed 7), OUT-desktop.png and
   OUT-phone.png (screenshots). Fails if the page makes a request or logs an error. */
const fs = require('fs');
const path = require('path');
const {open: openBrowser} = require('./browser_chromium.js');
const {stateOf, writeImage} = require('./page_kit.js');

const given = process.argv.slice(2), all = given[0] === '--controls';
const [program, page, out, ...states] = given.slice(all ? 1 : 0);
const PHONE = 390; // pixels
let browser;
const call = (...given) => browser.call(...given), run = expression => browser.run(expression);

/* Waits until the expression is true, at most two minutes. */
async function until(expression) {
    for (let i = 0; i < 1200; i++) {
        if (await run(expression)) return;
        await new Promise(resolve => setTimeout(resolve, 100));
    }
    throw new Error(`never true: ${expression}; the address is ${await run('location.hash')}`);
}

const idle = '!waiting.size && !running';
const key = name => run(`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "${name}", bubbles: true}))`);
const address = hash => until(`location.hash === "${hash}" && ${idle}`);

async function open(hash, width, height, mobile) {
    await call('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: mobile ? 2 : 1, mobile});
    await call('Page.navigate', {url: 'about:blank'});
    await call('Page.navigate', {url: `file://${path.resolve(page)}${hash}`});
    await until('document.readyState === "complete" && typeof shown === "object"');
}

async function screenshot(name) {
    const {data} = await call('Page.captureScreenshot', {format: 'png'});
    fs.writeFileSync(`${out}-${name}.png`, Buffer.from(data, 'base64'));
}

/* The shown image is that of a state. */
async function shows(what, text) {
    const made = await run(`new Promise(done => ask("test", ${JSON.stringify(stateOf(text))}, done))
        .then(({pixels}) => pixels.join() === shown.pixels.join())`);
    if (!made) throw new Error(`${what}: the page shows another image than that of ${text}`);
}

/* Of all pages, in milliseconds. */
async function processorTime() {
    const {processInfo} = await call('SystemInfo.getProcessInfo', {}, null);
    return processInfo.filter(p => p.type === 'renderer').reduce((sum, p) => sum + 1000 * p.cpuTime, 0);
}

async function images() {
    const network = await run('({width: network.width, height: network.height, channels: network.channels})');
    const start = await processorTime();
    for (const state of states.map(stateOf)) {
        const pixels = await run(`new Promise(done => ask("test", ${JSON.stringify(state)}, done))
            .then(({pixels}) => Array.from(pixels))`);
        writeImage(`${out}-${state.seed}.pam`, network, pixels);
    }
    console.log(((await processorTime() - start) / states.length).toFixed(1));
}

async function controls() {
    await run('location.hash = "#seed=7"');
    await address('#seed=7');
    await shows('an address', '7');
    await run('byId("grid").children[2].click()');
    await address('#seed=9&grid=7');
    await shows('a tap', '9');
    await key('ArrowLeft');
    await address('#seed=8&grid=7');
    await run('byId("to").value = "12"; byId("to").onchange(); byId("t").value = "0.5"; byId("t").oninput()');
    await address('#seed=8&to=12&t=0.5&grid=7');
    await shows('a walk', '{"seed": 8, "to": 12, "t": 0.5}');
    if (await run('network.directions.length')) {
        await run('byId("d1").value = "2.5"; byId("d1").oninput()');
        await address('#seed=8&to=12&t=0.5&d2=2.5&grid=7');
        await shows('a direction', '{"seed": 8, "to": 12, "t": 0.5, "shifts": {"1": 2.5}}');
    }
    const link = await run('location.hash'), linked = await run('shown.pixels.join()');
    await key('0');
    await address('#seed=8&grid=7');
    await shows('reset', '8');
    await run(`location.hash = "${link}"`);
    await until(`state.to === 12 && ${idle}`);
    if (await run('shown.pixels.join()') !== linked) throw new Error(`${link} shows another image than before`);
    await key('0');
    const classes = await run('network.classes.length');
    if (await run('byId("class-buttons").childElementCount') !== classes + 1) throw new Error('buttons of classes');
    if (await run('byId("classes").offsetHeight > 0') !== classes > 0) throw new Error('classes should be visible');
    for (let c = 0; c < classes; c++) {
        await run(`byId("class-buttons").children[${c + 1}].click()`);
        await address(`#seed=8&class=${c}&grid=7`);
        await shows('a class', `{"seed": 8, "class": ${c}}`);
    }
    await run('byId("class-buttons").firstChild.click()');
    await run('byId("play").click()');
    await until('state.t >= 0.06');
    await run('byId("play").click()');
    await until(`!walking && ${idle}`);
    await shows('a walk that was stopped', JSON.stringify({seed: 8, to: 9, t: await run('state.t')}));
    await key('n');
    await until(`/^#seed=[0-9]+$/.test(location.hash) && state.seed === state.first && state.to === null && ${idle}`);
}

/* Keeps the file that the button saves. */
async function save() {
    const saved = await run(`new Promise(done => {
        const make = URL.createObjectURL;
        URL.createObjectURL = blob => {
            blob.arrayBuffer().then(bytes => done(Array.from(new Uint8Array(bytes))));
            return make(blob);
        };
        byId("save").click();
        URL.createObjectURL = make;
    })`);
    fs.writeFileSync(`${out}-saved.png`, Buffer.from(saved));
}

async function withoutWorkers() {
    await call('Page.addScriptToEvaluateOnNewDocument', {source: 'Worker = function () { throw "no workers"; }'});
    await open('', 1280, 800, false);
    await until('byId("busy").textContent.includes("no workers")');
}

async function main() {
    browser = await openBrowser(program);
    await open('#seed=7', PHONE, 844, true);
    await until(`shown && ${idle}`);
    await screenshot('phone');
    if (await run('document.documentElement.scrollWidth') > PHONE) throw new Error('too wide for a phone');
    await open('#seed=7', 1280, 800, false);
    await until(`shown && ${idle}`);
    await screenshot('desktop');
    await save();
    await images();
    if (all) await controls();
    await withoutWorkers();
    const others = browser.requests.filter(url => !/^(file|blob|data|about):/.test(url));
    if (others.length) throw new Error(`requests: ${others}`);
    if (browser.errors.length) throw new Error(`errors: ${browser.errors}`);
}

main().then(() => 0, e => (console.error(String(e)), 1)).then(code => browser.close(code));
