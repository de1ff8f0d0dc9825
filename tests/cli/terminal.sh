#!/bin/sh
# Output of a run: after a signal, before its first step, and with --preview.
# shellcheck disable=SC2086 # options are words
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 40 --size 16 || finish
train="--data cats --model $root/tests/gan16.cfg --batch 8 --no-report --no-curves"
block=$(printf '\342\226\200')

# stderr is not a terminal: --preview=KIND draws, but never with -q
{
    exits 0 $train --epochs 1 --out a --preview
    ! grep -q "$block" .err
    fact $? '--preview should draw nothing if stderr is not a terminal'
    exits 0 $train --epochs 1 --out b --preview=blocks
    stderr_has "$block"
    for former in sixel kitty; do # of older versions
        notes preview-in-blocks $train --epochs 1 --out $former --preview $former
        stderr_has "$block"
        ensure 'one warning should be enough' [ "$(grep -c preview-in-blocks .err)" -eq 1 ]
    done
    quietly $train --epochs 1 --out d --preview blocks -q
    refuses 2 'option-value --preview paint' $train --epochs 1 --out e --preview paint
}

# the first signal is answered during the step
rm -f .err # the background shell may empty it too late
"$program" $train --epochs 100000 --sample-every 0 --checkpoint-every 0 --out long > .out 2> .err < /dev/null &
pid=$!
until grep -q '^epoch ' .err || ! kill -0 $pid 2> /dev/null; do sleep 0.1; done
kill -TERM $pid
wait $pid
exited $? 143 'a long run'
ran='a long run'
says signal-received
holds long/checkpoint.safetensors

# on a terminal
if command -v python3 > /dev/null; then
    cat > at_terminal.py << 'END'
import os, pty, sys
out = b''
def read(fd):
    global out
    data = os.read(fd, 65536)
    out += data
    return data
os.environ.update(TERM='xterm-256color', COLUMNS='80')
for k in ('TMUX', 'KITTY_WINDOW_ID', 'TERM_PROGRAM'): os.environ.pop(k, None)
code = pty.spawn(sys.argv[1:], read)
text = out.decode()
first = text.find('running the first step')
assert os.waitstatus_to_exitcode(code) == 0, text[-500:]
assert 0 < first < text.find('epoch 1/2'), text[:500]
assert '\u2580' in text and text.count('\u2580') > 300, text[-500:]
END
    python3 at_terminal.py "$program" $train --epochs 2 --out t --preview > .out 2> .err < /dev/null
    fact $? "on a terminal: $(tail -n 3 .err)"
else
    skip 'no python3: nothing is tried on a terminal'
fi
finish
