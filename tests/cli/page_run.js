'use strict';
/* node page_run.js PAGE.html OUT STATE...: runs the generator of an exported page, without a browser. For each state (a
   seed, or JSON such as {"seed": 3, "class": 1}) it writes the image OUT-SEED.pam. Prints the median processor time per
   image in milliseconds. */
const fs = require('fs');
const vm = require('vm');
const {stateOf, writeImage} = require('./page_kit.js');

const [page, out, ...states] = process.argv.slice(2);
const html = fs.readFileSync(page, 'utf8');
const part = id => html.split(`<script id="${id}"`)[1].split('</script>')[0].replace(/^[^>]*>/, '');
const network = JSON.parse(part('network'));
const openGenerator = vm.runInThisContext(`${part('generator')};openGenerator`);
const generator = openGenerator(network, part('weights'));
const times = states.map(stateOf).map(state => {
    const start = process.cpuUsage(), {pixels} = generator.make(state), {user} = process.cpuUsage(start);
    writeImage(`${out}-${state.seed}.pam`, network, pixels);
    return user / 1000;
});
times.sort((a, b) => a - b);
console.log(times[times.length >> 1].toFixed(1));
