#!/bin/sh
# A new user's path: a clone, scripts/demo, make install under a prefix, then an own dataset: train, stop, resume,
# sample, report, fine-tune on another one, export the generator to PyTorch. The clone gets the objects of this build,
# so that little is compiled.
. "$(dirname "$0")/../kit"
export NVCC='' DCGAN_THREADS=2
build=$(dirname "$program")
[ "$build" -ef "$root" ] && build=$root/build
if ! command -v make > /dev/null || ! command -v git > /dev/null || [ ! -e "$build/host/cli/main.o" ] ||
    ! git -C "$root" rev-parse HEAD > /dev/null 2>&1; then
    skip 'it is tried where the program was built, in a repository'
    finish
fi
[ -z "$(sh "$root/scripts/build/detect" --missing)" ] || { skip 'scripts/deps would install something'; finish; }

runs() { ends 0 "$@"; } # runs NAME COMMAND...

runs 'git clone' git clone -q --depth 1 "file://$root" "$dir/clone" || finish
cd "$dir/clone" || exit 1
find . -type f ! -path './.git/*' -exec touch -d 2000-01-01 '{}' + # older than the objects
mkdir build
cp -pR "$build"/*.mk "$build/flags" "$build"/models.* "$build"/tuning.* "$build/core" "$build/host" \
    "$build/kernels" build
find build/kernels '(' -name '*.cu.o' -o -name no_cuda.o ')' -exec rm -f '{}' +

# the demo, with fewer images
DCGAN_LIMIT=70
export DCGAN_LIMIT
runs 'scripts/demo' sh scripts/demo || finish
unset DCGAN_LIMIT
prints 'Samples: samples/demo/epoch-0080.png'
sed -n 's|.*: \(\./dcgan generate .*\)|\1|p' "$dir/.out" > "$dir/command"
ensure 'the demo should name a command' [ -s "$dir/command" ]
runs 'the command that the demo names' sh "$dir/command"
holds images/seed-0063.png
! git status --porcelain | grep -qv 'images/$'
fact $? "the demo should leave nothing but ignored files: $(git status --porcelain)"

runs 'make install' make install PREFIX="$dir/prefix"
PATH=$dir/prefix/bin:$PATH
mkdir "$dir/home"
cd "$dir/home" || exit 1
ensure 'dcgan should be the installed one' [ "$(command -v dcgan)" = "$dir/prefix/bin/dcgan" ]
if command -v man > /dev/null; then
    MANPATH=$dir/prefix/share/man runs 'man dcgan' man -P cat dcgan
    prints EXAMPLES
fi

# an own dataset in a folder with a blank in its name, with a file that is not an image
runs 'data --synthesize' dcgan data --synthesize "my cats" --count 40 --size 40
echo 'holidays 2019' > "my cats/read me.txt"
runs 'dcgan data' dcgan data "my cats" --size 16 --sheet seen.png
holds seen.png
env --default-signal=INT dcgan --data "my cats" --size 16 --batch 16 --epochs 100000 --sample-every 5 \
    --checkpoint-every 2 --out cats > stopped 2>&1 &
pid=$!
for _ in $(seq 600); do
    if [ -e cats/epoch-0005.png ] && [ -e cats/checkpoint.safetensors ]; then break; fi
    sleep 0.1
done
kill -INT $pid
wait $pid
exited $? 130 'Ctrl-C: the run'
command=$(sed -n 's/^resume: *//p' stopped)
steps=$(($(tail -n 1 cats/log.csv | cut -d, -f2) + 4))
runs "the printed resume command, '$command'" sh -c "$command --steps $steps"
[ "$(tail -n 1 cats/log.csv | cut -d, -f2)" -eq $steps ]
fact $? "it should have gone on to step $steps: $(tail -n 1 cats/log.csv)"
runs 'dcgan generate' dcgan generate cats --seeds 7-8 --scale 1 --write-z z.safetensors --out new
runs 'dcgan report' dcgan report cats
holds cats/report.html
runs 'dcgan doctor' dcgan doctor cats
runs 'data --synthesize kittens' dcgan data --synthesize kittens --count 20 --size 30 --seed 5
runs 'fine-tuning' dcgan --data kittens --init cats --batch 10 --epochs 1 --out kittens-run
ensure 'the new run should say where it began' grep -q '^init = .*/cats/checkpoint.safetensors$' kittens-run/config.ini
runs 'dcgan export' dcgan export cats --out generator.safetensors
if "$python" -c 'import torch, safetensors, PIL' 2> /dev/null; then
    runs 'samples/pytorch.py' "$python" "$dir/clone/samples/pytorch.py" generator.safetensors z.safetensors 7.png 8.png
    runs 'comparing with PyTorch' "$python" -c 'import sys
import numpy
from PIL import Image
a, b = (numpy.asarray(Image.open(p)).astype(int) for p in sys.argv[1:])
assert a.shape == b.shape and abs(a - b).max() <= 1, abs(a - b).max()' new/seed-0007.png 7.png
else
    skip 'torch, safetensors and pillow are not here'
fi
if command -v pkg-config > /dev/null; then
    PKG_CONFIG_PATH=$dir/prefix/lib/pkgconfig runs 'pkg-config' pkg-config --cflags --libs dcgan
fi
cd "$dir/clone" || exit 1
runs 'make uninstall' make uninstall PREFIX="$dir/prefix"
left=$(find "$dir/prefix" -type f)
ensure "make uninstall leaves $left" [ -z "$left" ]
finish
