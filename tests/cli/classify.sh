#!/bin/sh
# Classifiers: training on folders, tests after each epoch, resuming, classify; and wrong datasets and models.
. "$(dirname "$0")/kit"
network "$dir/tiny.cfg" '[model] name=tiny size=16 classes=4 input=standard' \
    '[train] batch=16 lr=0.01 optimizer=sgd momentum=0.9 decay=1e-4 schedule=2:0.5' \
    '[C.1] filters=8 kernel=3 bias=yes act=relu' '[C.2] op=max_pool kernel=4 stride=2' '[C.3] op=dropout p=0.2' \
    '[C.4] op=dense filters=4'
exits 0 data --synthesize "$dir/shapes" --classes 4 --count 130 --size 20 -q

# training, and the files of an epoch
exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 4 --out "$dir/run" --threads 2
says note-classes 4
stderr_has 'test accuracy'
for f in log.csv log.jsonl confusion.csv confusion.png worst.png report.html best.safetensors checkpoint.safetensors; do
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
fact $? "confusion.csv should count 24 images: $(cat "$dir/run/confusion.csv")"
config "$dir/run" 'optimizer = sgd' 'lr = 0.01'
awk -F, 'NR > 1 { sum[$1] += $3 } END { exit !(sum[4] < sum[1]) }' "$dir/run/log.csv"
fact $? "it should learn: $(cut -d, -f 1,3 "$dir/run/log.csv" | tr '\n' ' ')"

# the command line overrides the model; an error in the model has its line
exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 1 --lr 0.02 --out "$dir/other" -q
config "$dir/other" 'lr = 0.02'
# mistake KEY LINE NAME VALUE...: the model file with this line instead of that of NAME is refused
mistake()
{
    sed "s/^$3 = .*/$2/" "$dir/tiny.cfg" > "$dir/wrong.cfg"
    exits 2 --data "$dir/shapes" --model "$dir/wrong.cfg" --out "$dir/none"
    key=$1
    shift 3
    says "$key" "$@"
}
mistake option-value 'momentum = 2' momentum 'wrong.cfg:10: [train] momentum = 2'
mistake train-key 'device = cpu' momentum 'wrong.cfg:10: [train] device' epochs start_sigma
mistake bad-schedule 'schedule = 3:0.1,2:0.01' schedule 'wrong.cfg:12: [train] schedule = 3:0.1,2:0.01'
mistake train-key 'start-sigma = 0.1' schedule 'wrong.cfg:12: [train] start-sigma'
refuses 2 'bad-schedule 5:0.1,3:2' --data "$dir/shapes" --model "$dir/tiny.cfg" --schedule 5:0.1,3:2 --out "$dir/none"
exits 2 --data "$dir/shapes" --model "$dir/tiny.cfg" --optimizer adam --decay 0.5 --out "$dir/none"
says decay-with-adam 0.5
lacks "$dir/none"
# another optimizer does not use the model's settings; images are resized as in training; --limit counts
exits 0 --data "$dir/shapes" --model "$dir/tiny.cfg" --optimizer adam --schedule none --epochs 1 --out "$dir/adam"
says note-no-test
config "$dir/adam" 'momentum = 0'
exits 0 --data "$dir/shapes" --model "$dir/tiny.cfg" --fit stretch --epochs 1 --out "$dir/wide" -q
exits 0 classify "$dir/wide" "$dir/shapes" --fit stretch --limit 9
cp "$dir/.out" "$dir/stretched"
exits 0 classify "$dir/wide" "$dir/shapes" --limit 9
same "$dir/.out" "$dir/stretched"
mkdir -p "$dir/parts/train" "$dir/parts/test/another"
cp -r "$dir/shapes"/* "$dir/parts/train" && cp "$dir/shapes"/*/*-0000[0-3].png "$dir/parts/test/another"
notes 'test-left-out 3' classify "$dir/wide" "$dir/parts" --limit 3

# other thread counts, and a run that stops and resumes: the same bytes
if [ -n "$python" ]; then
    for t in 1 7; do
        exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 4 --out "$dir/run-$t" --threads $t \
            --checkpoint-every 1 --keep 3 -q
        same_state "$dir/run-$t/checkpoint.safetensors" "$dir/run/checkpoint.safetensors"
    done
    exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 4 --steps 10 --out "$dir/stopped" -q
    exits 0 --resume --out "$dir/stopped" --steps 0 -q
    same_state "$dir/stopped/checkpoint.safetensors" "$dir/run/checkpoint.safetensors"
    # the files of an epoch's test that is not shown are not made up for
    exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 1 --sample-every 0 --out "$dir/unseen" -q
    exits 0 --resume --out "$dir/unseen" --epochs 2 -q
    lacks "$dir/unseen/confusion.png" "$dir/unseen/worst.png"
    # rewound to the third epoch and resumed
    exits 0 --resume "$dir/run-1/checkpoint-0003.safetensors" -q
    same_state "$dir/run-1/checkpoint.safetensors" "$dir/run/checkpoint.safetensors"
    holds "$dir/run-1/best.safetensors"
    # rewound to the second epoch: the files equal those of two epochs; later files move to later-than-0002
    exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 2 --out "$dir/two" -q
    cp -r "$dir/run-7" "$dir/back"
    exits 0 --resume "$dir/back/checkpoint-0002.safetensors" --epochs 2 -q
    for f in confusion.csv confusion.png worst.png; do
        same "$dir/back/$f" "$dir/two/$f"
        same "$dir/back/later-than-0002/$f" "$dir/run-7/$f"
    done
    same "$dir/back/later-than-0002/best.safetensors" "$dir/run-7/best.safetensors"
    same_state "$dir/back/best.safetensors" "$dir/two/best.safetensors"
    exits 0 --data "$dir/shapes" --test 0.2 --model "$dir/tiny.cfg" --epochs 1 --start dcgan --momentum 0 \
        --out "$dir/plain" -q
    exits 0 --config "$dir/plain/config.ini" --out "$dir/again" -q
    same_state "$dir/plain/checkpoint.safetensors" "$dir/again/checkpoint.safetensors"
    exits 2 --resume --out "$dir/again" --momentum 0.9 --epochs 2
    says no-momentum-saved again/checkpoint.safetensors sgd.m.C.main.0.weight
    cut -d, -f 1-6 "$dir/run/log.csv" > "$dir/a" && cut -d, -f 1-6 "$dir/stopped/log.csv" > "$dir/b"
    same "$dir/a" "$dir/b"
else
    skip 'no python3'
fi

# classify
class=$(basename "$(find "$dir/shapes" -mindepth 1 -maxdepth 1 -type d | sort | head -n 1)")
one=$(find "$dir/shapes/$class" -name '*.png' | sort | head -n 1)
exits 0 classify "$dir/run" "$one" "$dir/shapes" --sheet "$dir/sheet.png"
[ "$(grep -c ': .* .*%$' "$dir/.out")" -eq 132 ]
fact $? "classify should print 131 images and a sum: $(wc -l < "$dir/.out")"
right=$(awk -v dir="$dir/shapes/" 'index($0, dir) == 1 { split(substr($1, length(dir) + 1), part, "/")
    n += part[1] == $2 }
    END { print n }' "$dir/.out")
prints "accuracy: $right of 130 correct, "
ensure "of 130 images $right are right" [ "$right" -gt 60 ]
holds "$dir/sheet.png"
exits 0 classify "$dir/run/best.safetensors" "$one" --top 3 --json
json_is "$dir/.out" 'len(r) == 1 and len(r[0]["classes"]) == 3'
exits 0 classify "$dir/run" "$dir/shapes" --limit 8 --json
json_is "$dir/.out" 'len(r) == 8 and all("/" + p["label"] + "/" in p["path"] for p in r)'
# a zip file of the folder
if command -v python3 > /dev/null; then
    exits 0 classify "$dir/run" "$dir/shapes"
    sed "s|^$dir/shapes/||" "$dir/.out" > "$dir/of-folder"
    (cd "$dir/shapes" && python3 -m zipfile -c ../shapes.zip ./*)
    exits 0 classify "$dir/run" "$dir/shapes.zip"
    sed "s|^$dir/shapes.zip/||" "$dir/.out" > "$dir/of-zip"
    same "$dir/of-folder" "$dir/of-zip"
fi
# a dataset with a test part only
mkdir -p "$dir/tests" && head -c 61460 /dev/zero > "$dir/tests/test_batch.bin"
exits 0 classify "$dir/run" "$dir/tests"
ensure "classify should print 20 images: $(head -c 600 "$dir/.out")" [ "$(grep -c ': .*%$' "$dir/.out")" -eq 20 ]
refuses 3 no-training-part --data "$dir/tests" --model "$dir/tiny.cfg" --out "$dir/none"
# export and import keep the answers
out_and_in "$dir/run" "$one"
if [ -n "$python" ]; then # an exported classifier without names
    "$python" - "$dir/net.safetensors" "$dir/nameless.safetensors" << 'END'
import st, sys
header, meta, data = st.read(sys.argv[1])
st.write(sys.argv[2], header, {k: v for k, v in meta.items() if k != 'classes' and 'crc32' not in k}, data)
END
    exits 2 classify "$dir/nameless.safetensors" "$one"
    stderr_has 'nameless.safetensors: has no class names; make a checkpoint from it with'
fi
exits 0 info "$dir/net.safetensors"
prints 'network for PyTorch' 'format: dcgan-classifier-1'
shows 'classes:' info "$dir/run/best.safetensors"
shows 'kind: network for PyTorch' info "$dir/net.safetensors"
! grep -q 'latent' "$dir/.out"
fact $? 'a classifier has no latent vector'
exits 0 info "$dir/run"
exits 0 plan "$dir/tiny.cfg"
prints 'plan test' '  first moments'
shows 'C.3.dropout.fwd' check "$dir/tiny.cfg" --device cpu --batch 5
exits 0 profile "$dir/tiny.cfg" --repeats 2 -q

# too many classes for confusion.png
exits 0 data --synthesize "$dir/many" --count 1 --size 16 -q
for k in $(seq 1001 2100); do
    mkdir "$dir/many/c$k" && cp "$dir/many/cat-00000.png" "$dir/many/c$k/a.png" &&
        cp "$dir/many/cat-00000.png" "$dir/many/c$k/b.png"
done
rm "$dir/many/cat-00000.png"
printf '[model]\nname = many\nsize = 8\n[C.1]\nop = dense\nfilters = 1100\n' > "$dir/many.cfg"
exits 0 --data "$dir/many" --test 0.5 --model "$dir/many.cfg" --epochs 1 --out "$dir/many-run"
says note-no-confusion-image 1024
lacks "$dir/many-run/confusion.png"
[ "$(head -n 1 "$dir/many-run/confusion.csv")" = 'is \ said,accuracy' ] &&
    [ "$(awk -F, 'NR > 1 && NF == 2 && $2 != ""' "$dir/many-run/confusion.csv" | wc -l)" -eq 1100 ]
fact $? 'confusion.csv of many classes should have the accuracy of each'
exits 0 classify "$dir/many-run" "$dir/many/c1001/a.png" --top 1000
tr ',' '\n' < "$dir/.out" |
    awk '/%/ { n++; v = $NF + 0; if (n > 1 && v > last) exit 1; last = v } END { exit n != 1000 }'
fact $? "classify --top 1000 should print as many, the likeliest first: $(wc -c < "$dir/.out") bytes"

# refused
exits 4 classify "$dir/run" "$one" --sheet "$dir/no/such/sheet.png"
exits 2 classify "$dir/run"
exits 3 classify "$dir/run" "$dir/tiny.cfg"
stderr_has tiny.cfg
exits 2 generate "$dir/run"
exits 0 data --synthesize "$dir/cats" --count 20 --size 16 -q
refuses 3 'no-classes tiny' --data "$dir/cats" --model "$dir/tiny.cfg" --out "$dir/none"
refuses 3 'no-classes tiny' --data "$dir/cats" --model "$dir/tiny.cfg" --out "$dir/none" --dry-run
exits 0 data --synthesize "$dir/three" --classes 3 --count 30 --size 16 -q
refuses 3 'class-count 3' --data "$dir/three" --model "$dir/tiny.cfg" --out "$dir/none"
exits 0 --data "$dir/cats" --model dcgan32 --batch 10 --epochs 1 --out "$dir/gan" -q
exits 0 generate "$dir/gan" -n 3 --out "$dir/made"
exits 0 classify "$dir/run" "$dir/made"
sed 's/^size = 32/size = 32\ninput = unit/' models/dcgan32.cfg > "$dir/unit.cfg"
refuses 2 'zca-for-classifiers input' plan "$dir/unit.cfg"
refuses 2 not-a-classifier classify "$dir/gan" "$one"
mv "$dir/shapes/$class" "$dir/shapes/other"
refuses 3 class-order --resume --out "$dir/run" --epochs 5 -q --allow-data-change
exits 0 --resume --out "$dir/run" --epochs 5 -q # another run
says other-images "$dir/run-2"
holds "$dir/run-2/best.safetensors"
finish
