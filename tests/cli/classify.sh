#!/bin/sh
# A classifier as users meet it: trained on folders, tested after each epoch, resumed, asked about pictures; and what is
# said where the data or the model are not what it needs.
. "$(dirname "$0")/kit"
cat > "$dir/tiny.cfg" << 'END'
[model]
name = tiny
size = 16
classes = 4
input = standard
[train]
batch = 16
lr = 0.01
optimizer = sgd
momentum = 0.9
decay = 1e-4
schedule = 2:0.5
[C.1]
filters = 8
kernel = 3
bias = yes
act = relu
[C.2]
op = max_pool
kernel = 4
stride = 2
[C.3]
op = dropout
p = 0.2
[C.4]
op = dense
filters = 4
END
exits 0 data --synthesize "$dir/shapes" --classes 4 --count 130 --size 20 -q

# trained, and what an epoch leaves
exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 4 --out "$dir/run" --threads 2
says '4 classes,'
says 'test accuracy'
for f in log.csv log.jsonl confusion.csv confusion.png worst.png curves.png best.safetensors checkpoint.safetensors; do
    holds "$dir/run/$f"
done
lacks "$dir/run/epoch-0001.png"
head -n 1 "$dir/run/log.csv" | grep -q '^epoch,step,loss,accuracy,test_loss,test_accuracy,img_s,seconds$'
fact $? "log.csv begins with $(head -n 1 "$dir/run/log.csv")"
[ "$(awk -F, 'NR > 1 && $5 != ""' "$dir/run/log.csv" | wc -l)" -eq 4 ]
fact $? 'four rows of log.csv should have a test loss'
tested=$(awk -F, 'NR > 1 { for (i = 2; i <= 5; i++) n += $i } END { print n }' "$dir/run/confusion.csv")
awk -F, 'NR > 1 { for (i = 2; i <= 5; i++) n += $i; if (sprintf("%.4f", $NR / n) != $6) exit 1; n = 0 }' \
    "$dir/run/confusion.csv"
fact $? "confusion.csv should end in each class's accuracy: $(cat "$dir/run/confusion.csv")"
[ "$(wc -l < "$dir/run/confusion.csv")" -eq 5 ] && [ "$tested" -eq 24 ]
fact $? "confusion.csv should count 24 pictures: $(cat "$dir/run/confusion.csv")"
grep -q '^optimizer = sgd$' "$dir/run/config.ini" && grep -q '^lr = 0.01$' "$dir/run/config.ini"
fact $? 'config.ini should have what the model says'
awk -F, 'NR > 1 { sum[$1] += $3 } END { exit !(sum[4] < sum[1]) }' "$dir/run/log.csv"
fact $? "it should learn: $(cut -d, -f 1,3 "$dir/run/log.csv" | tr '\n' ' ')"

# the command line wins over the model, and a mistake there has its line
exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 1 --lr 0.02 --out "$dir/other" -q
grep -q '^lr = 0.02$' "$dir/other/config.ini"
fact $? 'the command line should win'
# mistake KEY LINE MESSAGE: the model file with this line in the place of that key's
mistake()
{
    sed "s/^$1 = .*/$2/" "$dir/tiny.cfg" > "$dir/wrong.cfg"
    exits 2 --data "$dir/shapes" --model "$dir/wrong.cfg" --out "$dir/none"
    says "$3"
}
mistake momentum 'momentum = 2' 'wrong.cfg:10: [train] momentum = 2'
mistake momentum 'device = cpu' 'wrong.cfg:10: [train] device: no such key; there are epochs'
says 'start_sigma'
mistake schedule 'schedule = 3:0.1,2:0.01' 'wrong.cfg:12: [train] schedule = 3:0.1,2:0.01: up to'
mistake schedule 'start-sigma = 0.1' 'wrong.cfg:12: [train] start-sigma: no such key'
exits 2 --data "$dir/shapes" --model "$dir/tiny.cfg" --schedule 5:0.1,3:2 --out "$dir/none"
says '--schedule 5:0.1,3:2'
exits 2 --data "$dir/shapes" --model "$dir/tiny.cfg" --optimizer adam --decay 0.5 --out "$dir/none"
says '--decay 0.5: Adam has none'
lacks "$dir/none"
# another optimiser than the model's takes none of its numbers; pictures are seen as in training; the limit counts
exits 0 --data "$dir/shapes" --model "$dir/tiny.cfg" --optimizer adam --schedule none --epochs 1 --out "$dir/adam"
says 'no pictures are set aside'
grep -q '^momentum = 0$' "$dir/adam/config.ini"
fact $? 'Adam should have no momentum'
exits 0 --data "$dir/shapes" --model "$dir/tiny.cfg" --fit stretch --epochs 1 --out "$dir/wide" -q
exits 0 classify "$dir/wide" "$dir/shapes" --fit stretch --limit 9
cp "$dir/.out" "$dir/stretched"
exits 0 classify "$dir/wide" "$dir/shapes" --limit 9
same "$dir/.out" "$dir/stretched"
mkdir -p "$dir/parts/train" "$dir/parts/test/another"
cp -r "$dir/shapes"/* "$dir/parts/train" && cp "$dir/shapes"/*/*-0000[0-3].png "$dir/parts/test/another"
exits 0 classify "$dir/wide" "$dir/parts" --limit 3
says 'its test part'

# other threads, and a run that stops and goes on: the same bytes
values() # without what a version or a path changes
{
    python3 - "$1" << 'END'
import json, struct, sys, hashlib
b = open(sys.argv[1], 'rb').read()
n = struct.unpack('<Q', b[:8])[0]
h = json.loads(b[8:8 + n])
m = h.pop('__metadata__')
print(hashlib.sha256(b[8 + n:]).hexdigest(), sorted(h), m['step'], m.get('optimizer'), m.get('classes'), m.get('input'))
END
}
if command -v python3 > /dev/null; then
    for t in 1 3 7; do
        exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 4 --out "$dir/run-$t" --threads $t \
            --checkpoint-every 1 --keep 3 -q
        [ "$(values "$dir/run-$t/checkpoint.safetensors")" = "$(values "$dir/run/checkpoint.safetensors")" ]
        fact $? "$t threads leave other weights"
    done
    exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 4 --steps 10 --out "$dir/stopped" -q
    exits 0 --resume --out "$dir/stopped" --steps 0 -q
    [ "$(values "$dir/stopped/checkpoint.safetensors")" = "$(values "$dir/run/checkpoint.safetensors")" ]
    fact $? 'a run that was stopped leaves other weights'
    # back to the third epoch, and forth again; a value that is the program's own, but not the model's, is kept
    exits 0 --resume "$dir/run-1/checkpoint-0003.safetensors" -q
    [ "$(values "$dir/run-1/checkpoint.safetensors")" = "$(values "$dir/run/checkpoint.safetensors")" ]
    fact $? 'a run that went back leaves other weights'
    holds "$dir/run-1/best.safetensors"
    # back to the second epoch, and no further: what a run of two epochs leaves is there, the rest is in later-than-0002
    exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 2 --out "$dir/two" -q
    cp -r "$dir/run-7" "$dir/back"
    exits 0 --resume "$dir/back/checkpoint-0002.safetensors" --epochs 2 -q
    for f in confusion.csv confusion.png worst.png; do
        same "$dir/back/$f" "$dir/two/$f"
        same "$dir/back/later-than-0002/$f" "$dir/run-7/$f"
    done
    same "$dir/back/later-than-0002/best.safetensors" "$dir/run-7/best.safetensors"
    [ "$(values "$dir/back/best.safetensors")" = "$(values "$dir/two/best.safetensors")" ]
    fact $? 'the best state should be that of two epochs'
    # the same where a kill has lost the checkpoints of the last two
    cp "$dir/run-7/checkpoint-0002.safetensors" "$dir/run-7/checkpoint.safetensors"
    rm "$dir/run-7/checkpoint-0002.safetensors" "$dir/run-7/checkpoint-0003.safetensors"
    exits 0 --resume --out "$dir/run-7" --epochs 2 -q
    for f in confusion.csv confusion.png worst.png; do same "$dir/run-7/$f" "$dir/two/$f"; done
    [ "$(values "$dir/run-7/best.safetensors")" = "$(values "$dir/two/best.safetensors")" ]
    fact $? 'after a kill, too'
    cp "$dir/run-7/checkpoint-0001.safetensors" "$dir/run-7/checkpoint.safetensors"
    rm "$dir/run-7/checkpoint-0001.safetensors"
    exits 0 --resume --out "$dir/run-7" --epochs 2 --steps 10 -q # within the second epoch
    rm "$dir/run-7"/checkpoint-*.safetensors
    exits 0 --resume --out "$dir/run-7" --epochs 2 --steps 0 -q
    same "$dir/run-7/confusion.csv" "$dir/two/confusion.csv"
    [ "$(values "$dir/run-7/best.safetensors")" = "$(values "$dir/two/best.safetensors")" ]
    fact $? 'and from within an epoch'
    exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 1 --start dcgan --momentum 0 \
        --out "$dir/plain" -q
    exits 0 --config "$dir/plain/config.ini" --out "$dir/again" -q
    [ "$(values "$dir/plain/checkpoint.safetensors")" = "$(values "$dir/again/checkpoint.safetensors")" ]
    fact $? 'a config.ini leads to other weights'
    exits 2 --resume --out "$dir/again" --momentum 0.9 --epochs 2
    says 'again/checkpoint.safetensors: there is no tensor sgd.m.C.main.0.weight'
    cut -d, -f 1-6 "$dir/run/log.csv" > "$dir/a" && cut -d, -f 1-6 "$dir/stopped/log.csv" > "$dir/b"
    same "$dir/a" "$dir/b"
else
    skip 'python3 is not here'
fi

# asked about pictures
class=$(basename "$(find "$dir/shapes" -mindepth 1 -maxdepth 1 -type d | sort | head -n 1)")
one=$(find "$dir/shapes/$class" -name '*.png' | sort | head -n 1)
exits 0 classify "$dir/run" "$one" "$dir/shapes" --sheet "$dir/sheet.png"
[ "$(grep -c ': .* .*%$' "$dir/.out")" -eq 132 ]
fact $? "classify should print 131 pictures and a sum: $(wc -l < "$dir/.out")"
right=$(awk -v dir="$dir/shapes/" 'index($0, dir) == 1 { split(substr($1, length(dir) + 1), part, "/")
    n += part[1] == $2 }
    END { print n }' "$dir/.out")
prints "right: $right of 130"
[ "$right" -gt 60 ]
fact $? "of 130 pictures $right are right"
holds "$dir/sheet.png"
exits 0 classify "$dir/run/best.safetensors" "$one" --top 3 --json
if command -v python3 > /dev/null; then
    python3 -c 'import json, sys; v = json.load(open(sys.argv[1])); assert len(v) == 1 and len(v[0]["classes"]) == 3' \
        "$dir/.out"
    fact $? 'classify --json should be JSON of three classes'
    exits 0 classify "$dir/run" "$dir/shapes" --limit 8 --json
    python3 -c 'import json, sys; v = json.load(open(sys.argv[1])); assert len(v) == 8
for p in v: assert "/" + p["label"] + "/" in p["path"], p' \
        "$dir/.out"
    fact $? 'classify --json should have the folder as label'
fi
# a zip file is the folder that is in it
if "$program" --version | grep -q ' libzip [0-9]' && command -v python3 > /dev/null; then
    exits 0 classify "$dir/run" "$dir/shapes"
    sed "s|^$dir/shapes/||" "$dir/.out" > "$dir/of-folder"
    (cd "$dir/shapes" && python3 -m zipfile -c ../shapes.zip ./*)
    exits 0 classify "$dir/run" "$dir/shapes.zip"
    sed "s|^$dir/shapes.zip/||" "$dir/.out" > "$dir/of-zip"
    same "$dir/of-folder" "$dir/of-zip"
fi
# a test part alone is what there is to look at
mkdir -p "$dir/tests" && head -c 61460 /dev/zero > "$dir/tests/test_batch.bin"
exits 0 classify "$dir/run" "$dir/tests"
[ "$(grep -c ': .*%$' "$dir/.out")" -eq 20 ]
fact $? "classify should print 20 pictures: $(head -c 600 "$dir/.out")"
exits 3 --data "$dir/tests" --model "$dir/tiny.cfg" --out "$dir/none"
says 'none to train on'
# out and in again: what it says stays the same
out_and_in "$dir/run" "$one"
exits 0 info "$dir/net.safetensors"
prints 'network for PyTorch'
prints 'format: dcgan-classifier-1'
exits 0 info "$dir/run/best.safetensors"
prints 'classes:'
exits 0 info "$dir/net.safetensors"
prints 'kind: network for PyTorch'
! grep -q 'latent' "$dir/.out"
fact $? 'a classifier has no latent vector'
exits 0 info "$dir/run"
exits 0 plan "$dir/tiny.cfg"
prints 'plan test'
prints '  first moments'
exits 0 check "$dir/tiny.cfg" --device cpu --batch 5
prints 'C.3.dropout.fwd'
exits 0 profile "$dir/tiny.cfg" --repeats 2 -q

# more classes than a table is read of
exits 0 data --synthesize "$dir/many" --count 1 --size 16 -q
for k in $(seq 1001 2100); do
    mkdir "$dir/many/c$k" && cp "$dir/many/cat-00000.png" "$dir/many/c$k/a.png" &&
        cp "$dir/many/cat-00000.png" "$dir/many/c$k/b.png"
done
rm "$dir/many/cat-00000.png"
printf '[model]\nname = many\nsize = 8\n[C.1]\nop = dense\nfilters = 1100\n' > "$dir/many.cfg"
exits 0 --data "$dir/many" --test 0.5 --model "$dir/many.cfg" --epochs 1 --out "$dir/many-run"
says 'with more than 1024 classes there is no confusion.png'
lacks "$dir/many-run/confusion.png"
[ "$(head -n 1 "$dir/many-run/confusion.csv")" = 'is \ said,accuracy' ] &&
    [ "$(awk -F, 'NR > 1 && NF == 2 && $2 != ""' "$dir/many-run/confusion.csv" | wc -l)" -eq 1100 ]
fact $? 'confusion.csv of many classes should have the accuracy of each'
exits 0 classify "$dir/many-run" "$dir/many/c1001/a.png" --top 1000
tr ',' '\n' < "$dir/.out" |
    awk '/%/ { n++; v = $NF + 0; if (n > 1 && v > last) exit 1; last = v } END { exit n != 1000 }'
fact $? "classify --top 1000 should print as many, the likeliest first: $(wc -c < "$dir/.out") bytes"

# what does not go
exits 4 classify "$dir/run" "$one" --sheet "$dir/no/such/sheet.png"
exits 2 classify "$dir/run"
exits 3 classify "$dir/run" "$dir/tiny.cfg"
says 'tiny.cfg'
exits 2 generate "$dir/run"
exits 0 data --synthesize "$dir/cats" --count 20 --size 16 -q
exits 3 --data "$dir/cats" --model "$dir/tiny.cfg" --out "$dir/none"
says 'has no classes, which model tiny is to tell apart'
exits 3 --data "$dir/cats" --model "$dir/tiny.cfg" --out "$dir/none" --dry-run
says 'has no classes, which model tiny is to tell apart'
exits 0 data --synthesize "$dir/three" --classes 3 --count 30 --size 16 -q
exits 3 --data "$dir/three" --model "$dir/tiny.cfg" --out "$dir/none"
says 'has 3 classes'
exits 0 --data "$dir/cats" --model dcgan32 --batch 10 --epochs 1 --out "$dir/gan" -q
exits 0 generate "$dir/gan" -n 3 --out "$dir/made"
exits 0 classify "$dir/run" "$dir/made"
sed 's/^size = 32/size = 32\ninput = unit/' models/dcgan32.cfg > "$dir/unit.cfg"
exits 2 plan "$dir/unit.cfg"
says 'input: is for classifiers'
exits 2 classify "$dir/gan" "$one"
says 'not of a classifier'
mv "$dir/shapes/$class" "$dir/shapes/other"
exits 3 --resume --out "$dir/run" --epochs 5 -q --other-pictures
says ': class '
exits 0 --resume --out "$dir/run" --epochs 5 -q # a classifier of its own
says "they get a run of their own, $dir/run-2"
holds "$dir/run-2/best.safetensors"
finish
