'use strict';
/* Headless Chromium, by its DevTools protocol over pipes. */
const {spawn} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

/* Starts the program with one page. The result has call(method, params, sessionId), run(expression), the addresses of
   all requests, the errors that pages logged, and close(code), which ends this process. */
exports.open = async program => {
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'dcgan-chromium-'));
    const browser = spawn(program, ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe',
        `--user-data-dir=${profile}`, 'about:blank'], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    const answers = new Map(), requests = [], errors = [];
    let sent = 0, session, rest = '';

    browser.stdio[4].on('data', data => {
        const messages = (rest + data).split('\0');
        rest = messages.pop();
        for (const m of messages.map(text => JSON.parse(text))) {
            if (m.method === 'Network.requestWillBeSent') requests.push(m.params.request.url);
            if (m.method === 'Runtime.exceptionThrown') errors.push(JSON.stringify(m.params.exceptionDetails));
            if (m.method === 'Log.entryAdded') errors.push(m.params.entry.text);
            if (answers.has(m.id)) answers.get(m.id)(m);
        }
    });

    function call(method, params = {}, sessionId = session) {
        const id = ++sent;
        browser.stdio[3].write(`${JSON.stringify({id, method, params, ...(sessionId && {sessionId})})}\0`);
        return new Promise((resolve, reject) => answers.set(id, m =>
            m.error ? reject(new Error(JSON.stringify(m.error))) : resolve(m.result)));
    }

    async function run(expression) {
        const {result, exceptionDetails} = await call('Runtime.evaluate',
            {expression, awaitPromise: true, returnByValue: true});
        if (exceptionDetails) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
        return result.value;
    }

    function close(code) {
        browser.once('exit', () => {
            fs.rmSync(profile, {recursive: true, force: true, maxRetries: 50, retryDelay: 100}); // others end later
            process.exit(code);
        });
        call('Browser.close', {}, null).catch(() => browser.kill());
    }

    const {targetInfos} = await call('Target.getTargets'), {targetId} = targetInfos.find(t => t.type === 'page');
    ({sessionId: session} = await call('Target.attachToTarget', {targetId, flatten: true}));
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await call(`${domain}.enable`);
    return {call, run, requests, errors, close, visit: url => call('Page.navigate', {url})};
};
