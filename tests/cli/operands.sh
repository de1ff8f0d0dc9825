#!/bin/sh
# generate, interpolate and export: with a run, a checkpoint, and other files.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 20 --size 16 -q || finish
cp "$root/tests/tiny.cfg" tiny.cfg
exits 0 --data cats --model tiny.cfg --batch 8 --epochs 2 --keep 1 --out run -q

# a run directory stands for its newest checkpoint
exits 0 generate run -n 2 --out a
exits 0 generate run/checkpoint.safetensors -n 2 --out b
same a/seed-0001.png b/seed-0001.png
shows 'Checkpoint: run/checkpoint.safetensors' info a/seed-0001.png
exits 0 generate run/checkpoint-0001.safetensors -n 2 --out c
differ a/seed-0001.png c/seed-0001.png 'the older checkpoint should give other samples'
exits 0 generate run/ -n 1
holds run/generated/seed-0000.png
exits 0 interpolate run --seeds 1-2 --frames 2
holds run/interpolated/walk.gif
exits 0 export run --out g1
exits 0 export run/checkpoint.safetensors g2
same g1 g2
exits 0 info run
for c in generate interpolate export; do
    shows "Usage: dcgan $c RUN|CHECKPOINT" help $c
done

# without a checkpoint, or not a run
mkdir young empty
cp run/config.ini young/
for c in generate interpolate export; do
    refuses 4 'no-checkpoint-yet young' $c young --out x
    refuses 4 'not-a-run empty' $c empty --out x
    refuses 4 'not-a-run cats' $c cats --out x
done

refuses 4 'no-checkpoint-yet young' eval young --data cats

# other kinds of files are named; import reads files of torch.save
names() # names FILE FORMAT [KEY]
{
    for c in 'generate --out x' 'interpolate --out x' 'export --out x' 'import --out x' '--out . --resume'; do
        case $c${3-} in import*torch-file) exits 4 import --out x "$1" && continue ;; esac
        # shellcheck disable=SC2086 # words
        exits 4 $c "$1"
        says "${3:-not-safetensors}" "$1: " "$2"
    done
}
cp run/config.ini run/interpolated/walk.gif run/log.csv run/log.jsonl cats/cat-00001.png .
names cat-00001.png PNG
printf '\377\330\377\340\0\020JFIF\0\001' > jpeg && names jpeg JPEG
printf 'GIF89a\020\0\020\0\0\0\0' > gif && names gif GIF
names walk.gif GIF
printf '\037\213\010\0\0\0\0\0\0\003aaaaaa' > gz && names gz gzip
printf 'PK\003\004\0\0\010\010\0\0\0\0\0\0' > zip && names zip torch.save torch-file
printf '\200\002\212\nl\374\234F\371 j\250P\031.' > pickle && names pickle pickle torch-file
printf '\211HDF\r\n\032\n\0\0\0\0' > h5 && names h5 HDF5 python-file
names config.ini INI
names tiny.cfg INI
names log.csv log
names log.jsonl JSON
echo 'something that somebody has written' > text && names text text
head -c 600 /dev/zero > zeros
for c in generate interpolate export; do
    refuses 4 'bad-safetensors zeros' $c zeros --out x
done
# a damaged checkpoint
head -c 4000 run/checkpoint.safetensors > ./cut
refuses 4 'bad-safetensors cut' generate cut --out x
lacks x
finish
