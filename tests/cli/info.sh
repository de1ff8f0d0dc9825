#!/bin/sh
# dcgan info: every kind of file, as text and JSON; a damaged run is printed as far as it can be read.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
model="$root/tests/tiny.cfg"
exits 0 data --synthesize cats --count 24 --size 16 -q || finish
exits 0 --data cats --model "$model" --batch 8 --epochs 2 --out run --cache cache -q || finish
exits 0 export run/checkpoint.safetensors generator.safetensors
exits 0 generate run/checkpoint.safetensors -n 2 --out images
printf '[sm_90]\nconv_fwd N=8 H=16 W=16 C=4>8 K=4 S=2 P=1 : tiled\n' > a.tune

# tells FILE KIND TEXT JSON: what info prints in both forms
tells()
{
    exits 0 info "$1"
    prints "kind: $2" "$3"
    silent
    exits 0 info "$1" --json
    prints '"kind":	"'"$2"'"' "$4"
    silent
    json_is .out r
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
tells cache 'dataset cache' 'images: 24 of 16 x 16, colour' '"skipped":	"0"'
tells images/grid.png 'image (PNG)' 'Step: 6' '"Step":	"6"'
tells run run 'grids of samples: 2' '"checkpoints":	2'
exits 0 info run
prints 'in use: no' 'newest checkpoint:' 'config.ini:'

# other files
refuses 3 info-not-a-run info cats
printf 'text\n' > text
refuses 3 info-unknown info text
refuses 4 'info-cannot-open none' info none
head -c 40 cache > ./cut
refuses 4 info-cut-cache info cut
refuses 4 info-not-regular info /dev/null
printf '[sm_90]\nconv_fwd : tiled\n' > wrong.tune
refuses 2 'no-such-op wrong.tune:2:' info wrong.tune

# a damaged run: each error is printed with what can be read; the exit code is that of the first error
damaged() # damaged NAME CODE KEY FILE
{
    for form in '' --json; do
        # shellcheck disable=SC2086
        exits "$2" info "$1" $form
        prints "[$3] $4" 'grids of samples'
        says "$3" "$4"
    done
}
cp -r run torn
head -c 5000 run/checkpoint.safetensors > torn/checkpoint.safetensors
damaged torn 4 bad-safetensors torn/checkpoint.safetensors
prints '"steps":	6'
cp -r run zeros
printf '\0\0\0\0' | dd of=zeros/log.csv bs=1 seek=300 conv=notrunc 2> /dev/null
damaged zeros 4 log-zero-byte zeros/log.csv
says log-zero-byte 300
prints '"checksums":	"right"'
cp -r run folder
rm folder/log.jsonl
mkdir folder/log.jsonl
damaged folder 4 not-a-file folder/log.jsonl
cp -r run key
echo 'epocs = 3' >> key/config.ini
damaged key 2 unknown-key-near key/config.ini
says unknown-key-near "'epocs'"
cp -r run link
rm -f link/run.lock
ln -s nowhere link/run.lock
damaged link 4 lock-unreadable link/run.lock
cp -r torn two
cp zeros/log.csv two/log.csv
damaged two 4 bad-safetensors two/checkpoint.safetensors
prints '[log-zero-byte] two/log.csv'
finish
