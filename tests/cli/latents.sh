#!/bin/sh
# Latents of generate and interpolate: --read-z, --z, --truncation, --direction.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 16 --size 16 -q || finish
cp "$root/tests/tiny.cfg" tiny.cfg
exits 0 --data cats --model tiny.cfg --batch 8 --epochs 1 --out run -q --no-report
# files of latents
exits 0 generate run --seeds 7-9 --write-z z --out a -q
exits 0 generate run --read-z z --write-z again --out b -q
prints 'b/latent-0000.png to latent-0002.png, b/grid.png'
holds b/latent-0002.png b/grid.png
exits 0 generate run --seeds 7-9 --truncation 0.5 --write-z half --out c -q
differ z half
"$python" - << 'END'
import st, struct
def values(path):
    header, meta, data = st.read(path)
    return struct.unpack('<%df' % (len(data) // 4), data)
z, again, half = values('z'), values('again'), values('half')
assert z == again and len(z) == 24 and all(abs(a / 2 - b) < 1e-7 for a, b in zip(z, half)), (z, again, half)
END
fact $? 'latents should be written as they were read, and --truncation 0.5 should halve them'
for i in 0 1 2; do same_pixels "a/seed-000$((7 + i)).png" "b/latent-000$i.png"; done
exits 0 interpolate run --read-z z --frames 2 --out walk -q
exits 0 interpolate run --seeds 7-9 --frames 2 --out seeds -q
same walk/walk.gif seeds/walk.gif

# sums
exits 0 generate run --z '7 + 0.5*(3 - 12)' --out sum -q
shows ': 7 + 0.5*(3 - 12)' info sum/latent-0000.png
exits 0 generate run --z 8 --write-z eight --out eight-sum -q
exits 0 generate run --seeds 8 --write-z eight-seed --out eight-seeds -q
tail -c 32 eight > eight.data
tail -c 32 eight-seed > seed.data
same eight.data seed.data
refuses 2 'bad-z position 5' generate run --z '7 + )' --out x
refuses 2 'z-number 0.5' generate run --z 0.5 --out x
refuses 2 'z-zero 7' generate run --z 7-7 --out x

# options that contradict each other
refuses 2 'latents-twice --seeds' generate run --z 7 --seeds 3 --out x
refuses 2 'latents-twice --count' generate run --read-z z -n 3 --out x
refuses 2 'latents-twice --z' generate run --read-z z --z 3 --out x
refuses 2 'latents-twice --seeds' interpolate run --read-z z --seeds 3-4 --out x
refuses 2 'latents-twice --walks' interpolate run --read-z z --walks 2 --out x
refuses 2 'latents-twice --walks' interpolate run --direction 1 --walks 2 --out x
refuses 4 'no-z run/checkpoint.safetensors' generate run --read-z run/checkpoint.safetensors --out x
refuses 2 'one-latent eight' interpolate run --read-z eight --out x
exits 4 generate run --read-z none --out x
refuses 2 'output-is-input z' generate run --read-z z --write-z z --out x
lacks x

# directions: a row per seed and direction, 3 columns of 16 pixels with gaps
exits 0 interpolate run --seeds 1-2 --direction 2-4 --frames 2 --scale 1 --out d -q
exits 0 info d/strip.png
prints '56 x 110' ': 1-2'
exits 0 interpolate run --direction 8 --frames 2 --out d -q
refuses 2 'no-such-direction 8' interpolate run --direction 8-9 --out d
refuses 2 'option-value 1 to 4096' interpolate run --direction 0 --out d
finish
