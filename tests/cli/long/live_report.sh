#!/bin/sh
# With `make soak`: report.html of a run that is training, in headless Chromium and Firefox. It reloads itself, and
# slider, scroll position, open details and focus stay. A finished report does not reload. $CHROMIUM and $FIREFOX are
# the browsers.
. "$(dirname "$0")/../kit"
needs node
soaks || { skip 'browsers: make soak'; finish; }
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 256 --size 16 -q || finish
# live KIND BROWSER
live()
{
    "$program" --data cats --model "$root/tests/gan16.cfg" --batch 4 --grid 4x4 --epochs 1000000 --threads 1 \
        --sample-every 1 --checkpoint-every 0 -q --out "$1" > .training 2>&1 &
    training=$!
    n=0
    while [ $n -lt 600 ] && ! grep -q 'id="slider"' "$1/report.html" 2> .err; do n=$((n + 1)) && sleep 0.1; done
    ensure "a live report in $1" node "$root/tests/cli/page_live.js" "$1" "$2" "$1" $training
    kill -CONT $training 2> .err
    kill $training 2> .err
    wait $training 2> .err
}
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
firefox=${FIREFOX:-$(command -v firefox || command -v firefox-esr)}
if [ -z "$chromium" ]; then skip 'there is no Chromium'; else live chromium "$chromium"; fi
if [ -z "$firefox" ]; then skip 'there is no Firefox'; else live firefox "$firefox"; fi
[ -n "$chromium$firefox" ] || exit 77
finish
