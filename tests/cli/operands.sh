#!/bin/sh
# generate, interpolate and export: of a run, of a checkpoint, and of what is neither.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 20 --size 16 -q || finish
cp "$root/tests/tiny.cfg" tiny.cfg
exits 0 --data cats --model tiny.cfg --batch 8 --epochs 2 --keep 1 --out run -q

# a run directory is its newest checkpoint
exits 0 generate run -n 2 --out a
exits 0 generate run/checkpoint.safetensors -n 2 --out b
same a/seed-0001.png b/seed-0001.png
exits 0 info a/seed-0001.png
prints 'Checkpoint: run/checkpoint.safetensors'
exits 0 generate run/checkpoint-0001.safetensors -n 2 --out c
! cmp -s a/seed-0001.png c/seed-0001.png
fact $? 'the older checkpoint should make other pictures'
exits 0 generate run/ -n 1
holds run/generated/seed-0000.png
exits 0 interpolate run --seeds 1-2 --frames 2
holds run/interpolated/walk.gif
exits 0 export run --out g1
exits 0 export run/checkpoint.safetensors g2
same g1 g2
exits 0 info run
for c in generate interpolate export; do
    exits 0 help $c
    prints "Usage: dcgan $c RUN|CHECKPOINT"
done

# none yet, or no run at all
mkdir young empty
cp run/config.ini young/
for c in generate interpolate export; do
    exits 4 $c young --out x
    says 'young: this run has no checkpoint.safetensors yet'
    exits 4 $c empty --out x
    says 'empty: is a folder, but not of a run'
    exits 4 $c cats --out x
    says 'cats: is a folder, but not of a run'
done

# what else there is, is named
names() # names FILE KIND
{
    for c in generate interpolate export import; do
        exits 4 $c "$1" --out x
        says "$1: is $2"
    done
    exits 4 --resume "$1" --out .
    says "$1: is $2"
}
cp run/config.ini run/interpolated/walk.gif run/log.csv run/log.jsonl cats/cat-00001.png .
names cat-00001.png 'a PNG picture, not a safetensors file'
printf '\377\330\377\340\0\020JFIF\0\001' > jpeg && names jpeg 'a JPEG picture'
printf 'GIF89a\020\0\020\0\0\0\0' > gif && names gif 'a GIF picture'
names walk.gif 'a GIF picture'
printf '\037\213\010\0\0\0\0\0\0\003aaaaaa' > gz && names gz 'compressed by gzip'
printf 'PK\003\004\0\0\010\010\0\0\0\0\0\0' > zip &&
    names zip 'a zip archive, such as torch.save writes; in Python, write it'
printf '\200\002\212\nl\374\234F\371 j\250P\031.' > pickle &&
    names pickle 'a pickle, such as old versions of torch.save write; in Python'
printf '\211HDF\r\n\032\n\0\0\0\0' > h5 && names h5 'an HDF5 file'
names config.ini 'text: an INI file'
names tiny.cfg 'text: an INI file'
names log.csv 'a log of a run'
names log.jsonl 'text: JSON'
echo 'something that somebody has written' > text && names text 'text, not'
head -c 600 /dev/zero > zeros
for c in generate interpolate export; do
    exits 4 $c zeros --out x
    says 'zeros: not a safetensors file'
done
# of the right kind, but damaged: that stays what is said
head -c 4000 run/checkpoint.safetensors > ./cut
exits 4 generate cut --out x
says 'cut: not a safetensors file that can be used'
lacks x
finish
