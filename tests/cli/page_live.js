'use strict';
/* node page_live.js chromium|firefox PROGRAM RUN PID: the report of a run that trains as process PID, and has at least
   two grids, reloads itself in a headless browser, and keeps slider, scroll position, open details and focus. After the
   end of the run, which this program ends, it no longer reloads. In Chromium, timers of the page are ten times as fast,
   and there are also films, and a page that has not changed for a day. */
const path = require('path');

const [kind, program, folder, pid] = process.argv.slice(2);
const url = `file://${path.resolve(folder)}/report.html`;
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const send = signal => process.kill(+pid, signal);
let browser, second = 1000; // of the page's timers

function need(what, is, wanted) {
    if (JSON.stringify(is) !== JSON.stringify(wanted))
        throw new Error(`${what}: ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`);
}

/* Runs an expression in the loaded page, again if the page reloads meanwhile: then there may be no answer. */
async function run(expression) {
    for (let tries = 0; ; tries++) {
        let timer;
        const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error('no answer')), 5000)));
        try {
            const whole = `(document.readyState === "complete" ? [${expression}] : null)`;
            const answer = await Promise.race([browser.run(whole), late]);
            if (answer) return answer[0];
            throw new Error('the page is loading');
        } catch (e) {
            if (tries === 40) throw e;
            await pause(50);
        } finally {
            clearTimeout(timer);
        }
    }
}

async function until(expression) {
    for (let i = 0; i < 600; i++) {
        if (await run(expression)) return;
        await pause(100);
    }
    throw new Error(`never true: ${expression}`);
}

const mark = () => run('(document.documentElement.dataset.mark = "seen")');
const reloaded = () => until(`!document.documentElement.dataset.mark`);
const slide = i => run(`(function () {
    var slider = document.getElementById("slider");
    slider.value = ${i};
    slider.dispatchEvent(new Event("input"));
})()`);
const what = () => run(`({
    epoch: document.getElementById("epoch").textContent,
    open: document.querySelector("details").open,
    focus: document.activeElement.id,
    curves: Math.round((document.getElementById("curves").getBoundingClientRect().top + 37) / 5), // pixels, about
    shown: document.getElementById("grid").src.length > 100,
})`);
const max = () => run('+document.getElementById("slider").max');

async function reads() {
    await browser.visit(url);
    await until(`!!document.getElementById("live")`);
    await slide(1);
    await run(`(function () {
        document.querySelector("details").open = true;
        document.getElementById("slider").focus();
        document.getElementById("curves").scrollIntoView();
        scrollBy(0, 37);
    })()`);
    const before = await what(), grids = await max();
    need('the scroll position', before.curves + 0, 0);
    need('the focus', before.focus, 'slider');
    need('open details', before.open, true);
    await mark();
    await reloaded();
    need('the page after a reload', await what(), before);
    await until(`+document.getElementById("slider").max > ${grids}`);
    need('the page after a new grid', await what(), before);
    await run('(function () { var s = document.getElementById("slider"); s.value = s.max; })()');
    const seen = await max();
    await until(`+document.getElementById("slider").value > ${seen}`); // a reader of the newest grid sees newer ones
    await slide(1);
    return (await what()).epoch;
}

const stays = async words => {
    await mark();
    await pause(8 * second);
    need(words, await run('document.documentElement.dataset.mark || "reloaded"'), 'seen');
};

async function film() {
    await run(`(function () {
        document.getElementById("play").click();
        window.first = setInterval(function () { document.getElementById("slider").value = 0; }, 20);
    })()`);
    await stays('a film');
    await run('(clearInterval(first), document.getElementById("play").click())');
    await reloaded();
}

async function killed() {
    send('SIGSTOP');
    await mark();
    await reloaded();
    const {identifier} = await browser.call('Page.addScriptToEvaluateOnNewDocument',
        {source: 'Date.now = (function (now) { return function () { return now() + 90000000; }; })(Date.now);'});
    await until('/not changed for a day/.test(document.getElementById("live").textContent)');
    await stays('a page without change for a day');
    await browser.call('Page.removeScriptToEvaluateOnNewDocument', {identifier});
    await run('(location.reload(), 0)');
    await until('/is training/.test(document.getElementById("live").textContent)');
    await slide(1);
    return (await what()).epoch;
}

async function ends(epoch) {
    send('SIGCONT');
    send('SIGTERM');
    await until(`!document.getElementById("live") && !!document.getElementById("slider")`);
    need('the slider of a finished report', (await what()).epoch, epoch);
    await stays('a finished report');
}

async function main() {
    browser = await require(`./browser_${kind}.js`).open(program);
    if (kind === 'chromium') {
        second = 100;
        await browser.call('Page.addScriptToEvaluateOnNewDocument', {source: `setTimeout = (function (real) {
            return function (f, ms) { return real(f, ms / 10); };
        })(setTimeout);`});
    }
    let epoch = await reads();
    if (kind === 'chromium') {
        await film();
        epoch = await killed();
    }
    await ends(epoch);
    if (browser.errors && browser.errors.length) throw new Error(`errors: ${browser.errors}`);
}

main().then(() => 0, e => (console.error(e.stack), 1)).then(code => {
    try {
        send('SIGCONT');
        send('SIGTERM');
    } catch (e) { /* the process has ended */ }
    if (browser) browser.close(code);
    else process.exit(code);
});
