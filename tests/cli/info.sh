#!/bin/sh
# dcgan info: every kind of file, as text and as JSON; of a run the rest, too, where a part of it is damaged.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
model="$root/tests/tiny.cfg"
exits 0 data --synthesize cats --count 24 --size 16 -q || finish
exits 0 --data cats --model "$model" --batch 8 --epochs 2 --out run --cache cache -q || finish
exits 0 export run/checkpoint.safetensors generator.safetensors
exits 0 generate run/checkpoint.safetensors -n 2 --out pictures
printf '[sm_90]\nconv_fwd N=8 H=16 W=16 C=4>8 K=4 S=2 P=1 : tiled\n' > a.tune

# tells FILE KIND TEXT JSON: in both forms
tells()
{
    exits 0 info "$1"
    prints "kind: $2"
    prints "$3"
    silent
    exits 0 info "$1" --json
    prints '"kind":	"'"$2"'"'
    prints "$4"
    silent
    if command -v python3 > /dev/null; then
        python3 -c 'import json, sys; json.load(open(sys.argv[1]))' .out 2> .err
        fact $? "info $1 --json is not JSON: $(tail -n 1 .err)"
    fi
}
tells run/checkpoint.safetensors checkpoint 'batch-in-epoch: 0' '"epoch":	"2"'
tells run/checkpoint.safetensors checkpoint 'layers: 12-8-3' '"layers":	"8-12-1"'
tells generator.safetensors 'generator for PyTorch' 'step: 6' '"checksums":	"right"'
tells "$root/tests/golden/oracle16.safetensors" 'PyTorch run to replay' 'checksums: ' '"tensor":	{'
tells run/log.csv 'log of a run' 'steps: 6' '"steps":	6'
tells run/log.jsonl 'log of a run' 'epochs finished: 2' '"epochs finished":	2'
tells run/config.ini 'configuration of a run' 'batch = 8' '\nbatch = 8\n'
tells "$model" model 'name: tiny' '"latent":	8'
tells a.tune 'tuning file' 'rows: 1' '"rows":	1'
tells cache 'cache of pictures' 'pictures: 24 of 16 x 16, colour' '"skipped":	"0"'
tells pictures/grid.png 'picture (PNG)' 'Pictures: 0-1' '"Pictures":	"0-1"'
tells run run 'grids of samples: 2' '"checkpoints":	2'
exits 0 info run
prints 'in use: no'
prints 'newest checkpoint:'
prints 'config.ini:'

# what is none of these
exits 3 info cats
says 'is a directory, but not of a run'
printf 'text\n' > text
exits 3 info text
says 'is no run and no file of dcgan'
exits 4 info none
says 'none: cannot open it'
head -c 40 cache > ./cut
exits 4 info cut
says 'is a cut off cache'
exits 4 info /dev/null
says 'is no regular file'
printf '[sm_90]\nconv_fwd : tiled\n' > wrong.tune
exits 2 info wrong.tune
says 'wrong.tune:2:'

# a run with damage: each error in its place and the rest beside it; the exit code is the first one's
damaged() # damaged NAME CODE WHAT
{
    for form in '' --json; do
        # shellcheck disable=SC2086
        exits "$2" info "$1" $form
        prints "$3"
        prints 'grids of samples'
        says "$3"
    done
}
cp -r run torn
head -c 5000 run/checkpoint.safetensors > torn/checkpoint.safetensors
damaged torn 4 'torn/checkpoint.safetensors: not a safetensors file that can be used'
prints '"steps":	6'
cp -r run zeros
printf '\0\0\0\0' | dd of=zeros/log.csv bs=1 seek=300 conv=notrunc 2> /dev/null
damaged zeros 4 'zeros/log.csv: holds a zero byte behind byte 300'
prints '"checksums":	"right"'
cp -r run folder
rm folder/log.jsonl
mkdir folder/log.jsonl
damaged folder 4 'folder/log.jsonl: is a directory, not a file'
cp -r run key
echo 'epocs = 3' >> key/config.ini
damaged key 2 "unknown key 'epocs'"
cp -r run link
rm -f link/run.lock
ln -s nowhere link/run.lock
damaged link 4 'link/run.lock: cannot ask whether a run is at work'
cp -r torn two
cp zeros/log.csv two/log.csv
damaged two 4 'two/checkpoint.safetensors'
prints 'two/log.csv: holds a zero byte'
finish
