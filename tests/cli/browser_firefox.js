'use strict';
/* Headless Firefox, by its Marionette protocol. */
const {spawn} = require('child_process');
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

/* Like open of browser_chromium.js, with run, visit and close alone. */
exports.open = async program => {
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'dcgan-firefox-')), file = `${profile}/MarionetteActivePort`;
    fs.writeFileSync(`${profile}/user.js`, 'user_pref("marionette.port", 0);\n');
    const browser = spawn(program, ['--headless', '--marionette', '--no-remote', '--profile', profile],
        {stdio: 'ignore', env: {...process.env, HOME: profile}});
    for (let i = 0; i < 1200 && !fs.existsSync(file); i++) await pause(100);
    const socket = net.connect(+fs.readFileSync(file, 'latin1'), '127.0.0.1'), answers = new Map();
    let sent = 0, rest = Buffer.alloc(0);

    socket.on('data', data => {
        rest = Buffer.concat([rest, data]);
        for (let colon; (colon = rest.indexOf(':')) > 0;) {
            const end = colon + 1 + +rest.subarray(0, colon);
            if (rest.length < end) return;
            const m = JSON.parse(rest.subarray(colon + 1, end));
            rest = rest.subarray(end);
            if (answers.has(m[1])) answers.get(m[1])(m);
        }
    });

    function call(name, params) {
        const id = ++sent, text = JSON.stringify([0, id, name, params]);
        socket.write(`${Buffer.byteLength(text)}:${text}`);
        return new Promise((resolve, reject) => answers.set(id, m =>
            m[2] ? reject(new Error(JSON.stringify(m[2]))) : resolve(m[3])));
    }

    await call('WebDriver:NewSession', {});
    return {
        run: async expression => (await call('WebDriver:ExecuteScript', {script: `return ${expression}`})).value,
        visit: url => call('WebDriver:Navigate', {url}),
        close: code => {
            browser.once('exit', () => {
                fs.rmSync(profile, {recursive: true, force: true, maxRetries: 50, retryDelay: 100});
                process.exit(code);
            });
            call('Marionette:Quit', {flags: ['eForceQuit']}).catch(() => browser.kill());
        },
    };
};
