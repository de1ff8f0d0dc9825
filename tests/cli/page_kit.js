'use strict';
/* What page_run.js and page_browser.js share. */
const fs = require('fs');

/* A state of the generator from a seed, or from JSON such as {"seed": 3, "class": 1}. */
exports.stateOf = text => {
    const given = JSON.parse(text), plain = {class: null, to: null, t: 0, shifts: {}};
    return typeof given === 'number' ? {...plain, seed: given} : {...plain, ...given};
};

/* Writes an image as PAM. */
exports.writeImage = (path, {width, height, channels}, pixels) => {
    const head = `P7\nWIDTH ${width}\nHEIGHT ${height}\nDEPTH ${channels}\nMAXVAL 255\nENDHDR\n`;
    fs.writeFileSync(path, Buffer.concat([Buffer.from(head), Buffer.from(pixels)]));
};
