#!/bin/sh
# scripts/preset-table: every run once, whatever was there before, and a table with an interval of what is there.
. "$(dirname "$0")/kit"
command -v python3 > /dev/null || { skip 'python3 is not here'; finish; }
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 40 --size 32 || finish
# table CODE ARGUMENT...
table()
{
    want=$1 ran="preset-table $*"
    shift
    CATS=cats DCGAN=$program "$root/scripts/preset-table" "$@" --steps 2 --folder f --out table.md \
        > .out 2> .err
    [ $? -eq "$want" ]
    fact $? "preset-table $*: $(tail -n 3 .err)"
}
table 1 table
says 'nothing to tell: scripts/preset-table run'
table 0 --seeds 2 --jobs 3
[ "$(grep -c 'seed [12]: [0-9.]*$' .err)" -eq 8 ]
fact $? "two data sets, two recipes and two seeds should be eight runs: $(cat .err)"
grep -qx 'ema = 0.995' f/200-small-1-2/config.ini && ! grep -qx 'ema = 0.995' f/200-paper-1-2/config.ini
fact $? 'each run should have its recipe'
mean='[0-9.]* ([0-9.]*)' # and deviation
grep -q "^| Frechet distance | $mean | $mean | [-+][0-9.]* ([-+][0-9.]* to [-+][0-9.]*) |" table.md
fact $? "the table should have means, deviations and an interval: $(cat table.md)"
[ "$(grep -c '^## .* 2 seeds$' table.md)" -eq 2 ]
fact $? 'there should be a part for each data set'

# means and intervals of known numbers
python3 - << 'END'
import json
for seed, paper, small in ((1, 10, 1), (2, 20, 4)):
    for recipe, value in ('paper', paper), ('small', small):
        path = f'f/200-{recipe}-{seed}-2.json'
        with open(path) as file:
            result = json.load(file)
        for m in result['measures']:
            m['judged'] = value
        with open(path, 'w') as file:
            json.dump(result, file)
END
rm f/all-small-2-2.json
table 0 table --seeds 2
says 'of all cats 1 of 2 seeds have been trained with both'
grep -qF '| Frechet distance | 15.000 (7.071) | 2.500 (2.121) | -12.500 (-56.971 to +31.971) |' table.md
fact $? "known numbers should have a known interval: $(grep 'Frechet dist' table.md)"
table 0 run --seeds 2
[ "$(grep -c 'seed' .err)" -eq 1 ]
fact $? "what is there should not be trained again: $(cat .err)"
finish
