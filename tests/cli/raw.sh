#!/bin/sh
# generate and interpolate --raw: images for a pipe, as Y4M and RGB, compared with the PNG files of the same seeds.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 16 --size 16 -q || finish
exits 0 data --synthesize grey --count 16 --size 16 --channels 1 -q
cp "$root/tests/tiny.cfg" tiny.cfg
exits 0 --data cats --model tiny.cfg --batch 8 --epochs 2 --out run -q --no-report
exits 0 --data grey --model dcgan-16x1 --batch 8 --epochs 1 --out one -q --no-report

cat > compare.py << 'END'
import sys
import png

def frames(path, size):
    """The images of a stream as lists of RGB bytes, and the header."""
    data = open(path, 'rb').read()
    if not data.startswith(b'YUV4MPEG2'):
        n = 3 * size * size
        assert len(data) % n == 0, len(data)
        return [data[i:i + n] for i in range(0, len(data), n)], ''
    header, data = data.split(b'\n', 1)
    n, out = size * size, []
    while data:
        assert data.startswith(b'FRAME\n')
        y, cb, cr = (data[6 + k * n:6 + (k + 1) * n] for k in range(3))
        data, rgb = data[6 + 3 * n:], []
        for i in range(n):
            luma, b, r = (y[i] - 16) / 219, (cb[i] - 128) / 224, (cr[i] - 128) / 224
            red, blue = luma + 1.402 * r, luma + 1.772 * b
            green = (luma - 0.299 * red - 0.114 * blue) / 0.587
            rgb += [255 * c for c in (red, green, blue)]
        out.append(rgb)
    return out, header.decode()

stream, least, images = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
w, h, _, _ = png.read(images[0])
got, header = frames(stream, w)
assert len(got) == len(images) and w == h, (len(got), len(images))
assert not header or f' W{w} H{h} ' in header and ' C444 ' in header, header
different = set()
for one, path in zip(got, images):
    _, _, c, real = png.read(path)
    rgb = [real[i // 3 * c + (i % 3 if c >= 3 else 0)] for i in range(3 * w * h)]
    far = max(abs(a - b) for a, b in zip(one, rgb))
    assert far <= least, (path, far)
    different.add(bytes(rgb))
assert len(different) == len(images), 'the images should differ'
END
# compared WORDS STREAM LEVELS IMAGE...
compared() { what=$1; shift; ensure "$what" "$python" compare.py "$@"; }
PYTHONPATH=$root/tests/cli
export PYTHONPATH

for run in run one; do
    exits 0 generate $run --seeds 7-9 --out png-$run -q
    for format in y4m rgb; do
        "$program" generate $run --seeds 7-9 --raw - --raw-format $format > $run.$format 2> .err
        fact $? "generate $run --raw - --raw-format $format: $(cat .err)"
        grep -q "standard output: 3 images of 16 x 16 pixels, $format" .err
        fact $? "standard error should say what was written: $(cat .err)"
    done
    compared "rgb of $run should have the bytes of the PNG files" $run.rgb 0 png-$run/seed-000[789].png
    compared "y4m of $run should differ by rounding only" $run.y4m 2 png-$run/seed-000[789].png
done
"$program" generate run --count 1 --raw - -q 2> .err | head -n 1 | grep -q '^YUV4MPEG2 W16 H16 F1000:1000 Ip A1:1 C444'
fact $? 'y4m should be the default'
lacks generated interpolated
ensure 'no directory should be made' [ ! -e generated ]

# the frames of a walk: at t = 0 the sample of a seed
"$program" interpolate run --seeds 7-9 --frames 2 --scale 1 --raw - --raw-format rgb > walk.rgb 2> .err
fact $? "interpolate --raw: $(cat .err)"
for i in 0 2 4; do tail -c +$((i * 768 + 1)) walk.rgb | head -c 768; done > stops.rgb
compared 'each second frame should be the sample of a seed' stops.rgb 0 png-run/seed-000[789].png
ensure "3 seeds and 2 frames should be 6 images, not $(($(wc -c < walk.rgb) / 768))" [ "$(wc -c < walk.rgb)" -eq 4608 ]
"$program" interpolate run --seeds 7-9 --frames 2 --raw - 2> .err | head -n 1 |
    grep -q '^YUV4MPEG2 W800 H800 F1000:60 '
fact $? 'frames should be enlarged as those of walk.gif'

# a FIFO; a reader that goes away, and --write-z with a FIFO
mkfifo pipe
timeout 60 cat pipe > through &
exits 0 generate run --seeds 7-9 --raw pipe --raw-format rgb --write-z z
wait $!
prints 'pipe: 3 images of 16 x 16 pixels, rgb'
same through run.rgb
holds z
{ "$program" generate run --count 5000 --raw - 2> .err; echo $? > code; } | head -c 100 > /dev/null
ensure "a closed pipe should end with 4, not $(cat code)" [ "$(cat code)" = 4 ]
grep -q 'standard output: cannot write' .err
fact $? "a closed pipe should be named: $(cat .err)"
refuses 2 'raw-needs-stream some.y4m' generate run --raw some.y4m
refuses 2 'raw-format-alone' interpolate run --raw-format rgb
refuses 2 'latents-twice --raw cannot be combined with --out' generate run --raw - --out folder
refuses 2 'stdout-taken --raw' generate run --write-z - --raw -
refuses 2 "option-value avi: unknown; allowed: y4m or rgb" generate run --raw - --raw-format avi
if command -v script > /dev/null; then
    script -qec "'$program' generate run --raw -" /dev/null > terminal < /dev/null
    grep -q 'is a terminal' terminal # raw-terminal
    fact $? "a terminal should be refused: $(head -c 300 terminal)"
fi
if command -v ffmpeg > /dev/null && command -v ffprobe > /dev/null; then
    "$program" interpolate run --seeds 7-9 --frames 4 --raw - -q | ffmpeg -v error -i - -y walk.mp4 2> .err
    [ "$(ffprobe -v error -count_frames -show_entries stream=nb_read_frames -of csv=p=0 walk.mp4)" = 12 ]
    fact $? "ffmpeg should make a film of 12 frames: $(cat .err)"
else
    skip 'ffmpeg is not installed'
fi
finish
