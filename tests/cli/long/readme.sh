#!/bin/sh
# Runs every dcgan command of README.md, docs/guide, docs/install.md, docs/library.md, of the examples of
# `dcgan help COMMAND` and of the man page, with small datasets and runs of the names in them, for few steps.
# new_user.sh runs README's "Quick start" and docs/tutorial.md. They run after `make install`, in a mount namespace
# with a layer over /usr/local and /etc, so that nothing stays on this machine.
if [ -z "${README_INSIDE-}" ] && unshare -m true 2> /dev/null; then
    README_INSIDE=1 exec unshare -m sh "$0"
fi
. "$(dirname "$0")/../kit"
cd "$dir" || exit 1
build=${program%/*} && build=${build#"$root"/}
case $build in . | "$root" | "$root/.") build=build ;; esac
installs()
{
    [ -n "${README_INSIDE-}" ] && [ -e "$root/$build/libdcgan.a" ] || return 1
    grep -q fsanitize "$root/$build/dcgan.pc.in" && return 1
    mount -t tmpfs none /mnt 2> /dev/null || return 1
    for at in usr/local etc var/cache/ldconfig; do
        mkdir -p "/$at" "/mnt/$at" "/mnt/over/$at"
        mount -t overlay -o "lowerdir=/$at,upperdir=/mnt/$at,workdir=/mnt/over/$at" none "/$at" 2> /dev/null && continue
        [ "$at" != etc ] || cp -a /etc/. /mnt/etc
        mount --bind "/mnt/$at" "/$at" 2> /dev/null || return 1
    done
    make -s -C "$root" install BUILD="$build" NVCC= PREFIX=/usr/local DESTDIR= > out 2>&1 < /dev/null
    fact $? "make install failed: $(tail -n 3 out)"
}
export DCGAN_LIMIT=70 DCGAN_REPEATS=1 DCGAN_SECONDS=0.1 DCGAN_MAX_BATCH=64 DCGAN_MIN_STEPS=1 DCGAN_KEEP=2
if installs; then
    installed=yes
    ensure "dcgan is $(command -v dcgan) after make install" [ "$(command -v dcgan)" = /usr/local/bin/dcgan ]
else
    installed=''
    skip 'no mount namespace, or no plain library: nothing is installed, programs of the library are left out'
    mkdir bin && ln -s "$program" bin/dcgan && PATH=$dir/bin:$PATH
fi

# Code blocks without a language, and words in ` ` of the pages; examples of the help and of the man page.
sed '/^## Quick start$/,/^## Features$/d; /^```[a-z]/,/^```$/d' "$root/README.md" "$root"/docs/guide/*.md \
    "$root/docs/install.md" "$root/docs/library.md" > text
{ sed -n '/^```$/,/^```$/p' text; grep -o '`dcgan [^`]*`' text | tr -d '`'; } | sed 's/  *#.*//' > lines
"$program" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | while read -r command; do
    "$program" help "$command" 2> /dev/null | sed -n 's/^  \(dcgan .*\)/\1/p'
done > of-help
"$program" --help-man | sed -n '/^\.SH EXAMPLES/,/^\.SH EXIT/p' | sed -n 's/^\\fB\(.*\)\\fR$/\1/p' |
    sed "s/\\\\-/-/g; s/\\\\(aq/'/g; s/\\\\e/\\\\/g" > of-man
[ "$(wc -l < of-help)" -gt 40 ] && [ "$(grep -c '^dcgan' lines)" -gt 30 ]
fact $? "examples are found: $(wc -l < of-help) in the help, $(grep -c '^dcgan' lines) in the pages"
sort of-help > help-sorted
sort of-man | cmp -s - help-sorted
fact $? "the man page's examples should be the help's: $(sort of-man | diff - help-sorted)"
cat of-help >> lines

# Datasets and runs that these lines use.
exits 0 data --synthesize cats --count 70 --size 64 -q
for name in kittens portraits sprites scans more-cats others other-cats mnist; do cp -r cats $name; done
cp cats/cat-00001.png cat.png && cp cats/cat-00001.png a.png && cp cats/cat-00002.png b.png
exits 0 data --synthesize digits --classes 10 --count 100 --size 28 -q
exits 0 data --synthesize pets --classes 3 --count 70 --size 32 -q
mv pets/disc pets/cat && mv pets/ring pets/dog && mv pets/square pets/fox
for run in cats-dcgan64-paper cats-a:--seed=2 cats-b:--seed=3; do
    exits 0 --data cats --size 16 --batch 32 --steps 6 --epochs 3 --checkpoint-every 1 -q \
        "$(expr "$run:--seed=1" : '[^:]*:\([^:]*\)')" --out "samples/${run%%:*}"
done
exits 0 --data cats --model dcgan64 --batch 2 --steps 1 -q --out stock
exits 0 export stock --out stock.safetensors
exits 0 --data digits --model dcgan28 --batch 32 --steps 2 -q --out samples/digits-dcgan28
exits 0 --data pets --model dcgan32 --conditional --batch 32 --steps 2 -q --out samples/pets-dcgan32
exits 0 --data digits --model cnn-mnist --test 0.1 --batch 32 --epochs 1 -q --out samples/digits-cnn-mnist
cp -r samples/digits-dcgan28 samples/digits-gan
mkdir runs && cp -r samples/digits-cnn-mnist runs/eyes
cp -r samples/digits-cnn-mnist run
cp -r samples/cats-a runs/a
cp samples/cats-dcgan64-paper/checkpoint.safetensors run/checkpoint-0200.safetensors
cat "$root"/kernels/tuning/*.tune > a.tune && cp a.tune b.tune
ln -s "$root/tests" tests
export DCGAN_STEPS=2
cp -r samples given

# allowed COMMAND: its valid exit codes
allowed()
{
    case $1 in
        'python3 samples/pytorch.py'*) python3 -c 'import torch, safetensors, PIL' 2> /dev/null && echo 0 || echo 1 ;;
        *'--device cuda'* | 'dcgan tune dcgan64'*) echo '0 2 5' ;; # an error without a GPU
        *) echo 0 ;;
    esac
}
sed -i 's/--from-epoch 200/--from-epoch 1/; s/10-500:10/8-16:4/; s/ RUN$/ samples\/cats-a/
    s/verify \(run\|samples.*\)\/checkpoint-0200/verify samples\/cats-a\/checkpoint-0001/; s/--count 1000/--count 60/
    s/batch dcgan64-paper/batch dcgan-16x3/; s/--batch \(256\|32\|64\)/--batch 4/
    s/ --two-sample$/ --two-sample -n 20/; s/dcgan128/dcgan64/; s/r3gan-64/r3gan-32/
    s/ --raw -/ --frames 2 --raw -/' lines
awk '!seen[$0]++' lines | while read -r command; do
    case $command in
        '```' | '' | 'make'* | 'scripts/'* | 'apt-get '*) continue ;;
        'cc '* | './make_images '* | 'python3 samples/'*) [ -n "$installed" ] || continue ;;
        'docker '* | 'mpirun '* | 'srun '* | 'torchrun '*) continue ;; # ranks.sh and ranks_sim.sh start processes
        *'| ffmpeg '*) command -v ffmpeg > /dev/null || continue ;;
        'dcgan batch' | 'dcgan classify' | 'dcgan plan'*' --device cuda') continue ;; # the first two are names only
        'dcgan import resnet50.safetensors '*) continue ;; # torch_resnet.py has such weights
        'dcgan '*inception*) continue ;; # fid.sh has such weights
        'dcgan '*) ;;
        *) echo "1 a line that this test does not know: $command"; continue ;;
    esac
    rm -rf samples images walk made found runs/big && cp -r given samples
    cp "$root"/samples/*.c "$root"/samples/*.py samples
    cp stock.safetensors generator.safetensors
    case $command in ./make_images* | *sample.py*) mkdir images ;; esac
    case $command in *checkpoint.safetensors) rm -f checkpoint.safetensors ;; esac
    case $command in *found/latents*)
        mkdir found && dcgan generate samples/cats-a -n 3 --write-z found/latents.safetensors --out images -q > out ;;
    esac
    case $command in *images/grid.png) dcgan generate samples/cats-a -n 2 --out images -q > out ;; esac
    case $command in *--resume*) steps=8 ;; *) steps=2 ;; esac
    DCGAN_STEPS=$steps sh -c "$command" > out 2> err < /dev/null
    code=$?
    case " $(allowed "$command") " in
        *" $code "*) echo "0 $command" ;;
        *) echo "1 '$command' exited $code: $(tail -n 3 err | tr '\n' ' ')" ;;
    esac
done > results
while read -r bad words; do fact "$bad" "$words"; done < results
ensure "more lines should be found: $(cat results)" [ "$passed" -gt 60 ]
finish
