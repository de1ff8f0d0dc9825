#!/bin/sh
# Model files: the built-in ones, files, and mistakes with file, line and key.
. "$(dirname "$0")/kit"

for m in dcgan32 dcgan64 dcgan64-paper dcgan128; do
    exits 0 plan $m
    prints 'plan train'
    prints 'arena, one allocation'
    cp "$dir/.out" "$dir/built-in"
    exits 0 plan "$root/models/$m.cfg"
    same "$dir/built-in" "$dir/.out"
done
exits 0 plan dcgan32 --batch 7 --json
prints '"arena_bytes"'
exits 0 plan dcgan32 --precision fp64
prints 'weights'

exits 2 plan dcgan65
says 'built in: '
exits 2 plan "$dir/none.cfg"
exits 2 plan "$dir"

# wrong LINE WORDS SED-SCRIPT: the small model with one thing changed
wrong()
{
    sed "$3" "$root/models/dcgan32.cfg" > "$dir/wrong.cfg"
    ! cmp -s "$dir/wrong.cfg" "$root/models/dcgan32.cfg"
    fact $? "sed '$3' changed nothing"
    exits 2 plan "$dir/wrong.cfg"
    says "wrong.cfg:$1"
    says "$2"
}
line() { grep -n -m 1 "$1" "$root/models/dcgan32.cfg" | cut -d: -f1; }
wrong "$(line '^size')" size 's/^size = 32/size = 7/'
wrong "$(line '^size')" size 's/^size = 32/size = thirty/'
wrong "$(line '^channels')" channels 's/^channels = 3/channels = 2/'
wrong "$(line '^latent')" latent 's/^latent = 100/latent = 0/'
wrong "$(line '^filters')" filters '0,/^filters = 128/s//filters = -1/'
wrong "$(line '^kernel')" kernel '0,/^kernel = 4/s//kernel = 0/'
wrong "$(line '^norm')" norm '0,/^norm = batch/s//norm = bitch/'
wrong "$(line '^act')" act '0,/^act = relu/s//act = rulu/'
wrong "$(line '^op')" op '0,/^op = conv_transpose/s//op = deconv/'
wrong "$(line '^act')" akt '0,/^act = relu/s//akt = relu/'
sed 's/^\[G.2\]/[G.9]/' "$root/models/dcgan32.cfg" > "$dir/wrong.cfg"
exits 2 plan "$dir/wrong.cfg"
says 'section [G.2] is missing'
finish
