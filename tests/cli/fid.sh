#!/bin/sh
# FID and KID: weights in each layout, both ways of resizing, moments, and files that are refused. The network of the
# recorded weights has a 32nd of the channels; tests/host/inception compares its features with PyTorch's.
. "$(dirname "$0")/kit"
export DCGAN_THREADS=1
small="$root/tests/golden/inception.safetensors"
[ -n "$python" ] || { skip 'no python3: no weights were written'; finish; }
save() { "$python" "$root/tests/cli/torch_save.py" "$small" "$@"; }
exits 0 data --synthesize "$dir/a" --count 34 --size 16 -q
exits 0 data --synthesize "$dir/b" --count 18 --size 16 --classes 2 --seed 3 -q
fid="eval $dir/b --data $dir/a --model $root/tests/gan16.cfg -q"

# shellcheck disable=SC2086 # words
eval_to() { file=$1 && shift && exits 0 $fid --json --inception-count 8 "$@" && cp "$dir/.out" "$dir/$file"; }
value() { json_is "$dir/$1" "$2"; }
of='dict((m["name"], m) for m in r["metrics"])'

# shellcheck disable=SC2086
exits 0 $fid --inception "$small"
says fid-few-images 18 2048
prints 'Frechet distance, unknown weights'
prints 'KID, unknown weights'
prints 'resizing: pytorch-fid'
prints '18 samples compared with 34 real images'
prints 'real-vs-real baseline: 17 images compared with 17'
if grep -q '^FID' "$dir/.out" || grep -q FID "$dir/.err"; then fact 1 'the distance of unknown weights is not FID'; fi
eval_to one --inception "$small"
value one 'r["inception"]["known"] is False and "fid" not in '"$of"
value one '[r["inception"][k] for k in ("real", "samples", "baseline")] == [8, 8, 4]'
value one "$of"'["frechet_inception"]["judged"] > '"$of"'["frechet_inception"]["real"] > 0'
value one "$of"'["kid_inception"]["judged_deviation"] > 0 and '"$of"'["kid_inception"]["real_deviation"] > 0'
eval_to threads --inception "$small" --threads 3
same "$dir/one" "$dir/threads"
eval_to clean --inception "$small" --inception-resize clean-fid
value clean 'r["inception"]["resize"] == "clean-fid"'
differ "$dir/clean" "$dir/one" 'resizing should change the features'

distance() { grep -o '"frechet_inception", "better": "lower", "judged": [0-9.]*' "$dir/$1" | sort -u; }
same_distance() { ensure "$1 should have the distance of $2" [ "$(distance "$1")" = "$(distance "$2")" ]; }

# the layouts of torch.save, and converted files
save "$dir/old.pth" with fc.weight 5
save "$dir/new.pth" zip
for layout in old new; do
    eval_to "$layout" --inception "$dir/$layout.pth"
    same "$dir/one" "$dir/$layout"
    exits 0 import "$dir/$layout.pth" --out "$dir/$layout.safetensors"
    says inception-unknown 6726825d
    prints "eval RUN --data DIR --inception $dir/$layout.safetensors"
done
eval_to converted --inception "$dir/old.safetensors"
same "$dir/one" "$dir/converted"
exits 0 info "$dir/new.safetensors"
prints 'format: dcgan-inception-1'

# Weights are known by the digits of their hash. These 8 bytes, of 2^32 that were tried, give the file those digits.
save "$dir/known.pth" end ee263ca600000000
quietly import "$dir/known.pth" --out "$dir/known.safetensors" -q
for file in known.pth known.safetensors; do
    eval_to known --inception "$dir/$file"
    value known 'r["inception"]["known"] and r["inception"]["weights"] == "inception-2015-12-05"'
    [ "$(sed 's/"fid"/"frechet_inception"/; /"inception": {/d' "$dir/known")" = \
        "$(sed '/"inception": {/d' "$dir/one")" ]
    fact $? "known weights change the name of the distance only"
done
# shellcheck disable=SC2086
exits 0 $fid --inception "$dir/known.pth"
grep -q '^FID ' "$dir/.out" && grep -q '^KID ' "$dir/.out"
fact $? "known weights have FID and KID: $(cat "$dir/.out")"
prints 'Inception weights: inception-2015-12-05'
stderr_has 'FID: too large, because 18 images'

# moments
eval_to first --inception "$small" --moments "$dir/a.npz"
same "$dir/first" "$dir/one"
holds "$dir/a.npz"
eval_to second --inception "$small" --moments "$dir/a.npz"
value second 'r["inception"]["moments"] and r["inception"]["real"] == 8 and r["inception"]["baseline"] == 0'
same_distance second one
# shellcheck disable=SC2086
exits 0 $fid --inception "$small" --moments "$dir/a.npz"
prints '8 real images, whose moments are in'
# shellcheck disable=SC2086
refuses 3 'other-moments clean-fid' $fid --inception "$small" --inception-resize clean-fid \
    --moments "$dir/a.npz"
if "$python" -c 'import numpy' 2> /dev/null; then
    "$python" - "$dir" << 'END'
import sys
import numpy as np
f = np.load(sys.argv[1] + '/a.npz')
assert f['mu'].shape == (64,) and f['sigma'].shape == (64, 64) and f['images'] == 8, f
assert f['made_with'].item().endswith(b', pytorch-fid')
np.savez_compressed(sys.argv[1] + '/theirs.npz', mu=f['mu'], sigma=f['sigma'])
np.savez(sys.argv[1] + '/narrow.npz', mu=f['mu'].astype('f4'), sigma=f['sigma'].T)
np.savez(sys.argv[1] + '/short.npz', mu=f['mu'][:9], sigma=f['sigma'][:9, :9])
np.savez(sys.argv[1] + '/nan.npz', mu=f['mu'] * np.nan, sigma=f['sigma'])
np.savez(sys.argv[1] + '/alone.npz', mu=f['mu'])
END
    fact $? 'numpy should read the moments'
    for file in theirs narrow; do
        eval_to "$file" --inception "$small" --moments "$dir/$file.npz"
        value "$file" 'r["inception"]["real"] is None'
    done
    same_distance theirs one
    # shellcheck disable=SC2086
    exits 0 $fid --inception "$small" --moments "$dir/theirs.npz"
    prints 'an unknown number of real images'
    for file in short nan alone; do
        # shellcheck disable=SC2086
        refuses 3 bad-moments $fid --inception "$small" --moments "$dir/$file.npz"
    done
else
    skip 'no numpy: its files were not read'
fi
echo text > "$dir/text.npz"
# shellcheck disable=SC2086
exits 3 $fid --inception "$small" --moments "$dir/text.npz"

# shellcheck disable=SC2086
exits 4 $fid --inception "$small" --inception-count 8 --moments "$dir/none/a.npz"
stderr_has 'the moments were not written'
prints 'KID, unknown weights' # the results are not lost

# during training: the columns of the log, and the values that eval prints
gan="--data $dir/a --model $root/tests/gan16.cfg --batch 17 --seed 3 --checkpoint-every 1 -q"
column() { awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
    NR > 1 && $2 % 2 == 0 { print $at }' "$dir/$1/log.csv"; }
# shellcheck disable=SC2086
{
    exits 0 $gan --epochs 1 --eval-every 1 --out "$dir/run"
    lacks_column=$(head -n 1 "$dir/run/log.csv")
    exits 0 --resume --out "$dir/run" --epochs 2 --inception "$small" -q
    exits 0 $gan --epochs 2 --eval-every 1 --inception "$dir/known.pth" --moments "$dir/run.npz" --out "$dir/file"
    notes note-inception ${gan% -q} --epochs 2 --eval-every 1 --inception "$dir/known.pth" --moments "$dir/run.npz" \
        --out "$dir/again"
}
case $lacks_column in *nearest,kid) ;; *) fact 1 "a log has no column of FID without --inception: $lacks_column" ;; esac
head -n 1 "$dir/run/log.csv" | grep -q ',nearest,kid,fid,frechet_inception,kid_inception$'
fact $? "columns should follow: $(head -n 1 "$dir/run/log.csv")"
[ "$(column run frechet_inception | head -n 1)$(column run fid | tr -d '\n')" = '' ]
fact $? 'the first session had no weights, and the second unknown weights'
exits 0 eval "$dir/run" --data "$dir/a" --seed 3 --inception "$small" --inception-count 17 --json -q
for metric in frechet_inception kid_inception; do
    is=$(sed -n "s/.*\"$metric\".*\"judged\": \([^,]*\),.*/\1/p" "$dir/.out" | sort -u)
    logged=$(column run "$metric" | tail -n 1)
    ensure "eval prints $is as $metric, the log $logged" [ "$is" = "$logged" ]
done
[ "$(column file fid | grep -c .)" -eq 2 ] && [ -z "$(column file frechet_inception | tr -d '\n')" ] &&
    [ -z "$(column file kid_inception | tr -d '\n')" ] && [ "$(column file fid)" = "$(column again fid)" ]
fact $? "moments give FID without KID: $(cat "$dir/file/log.csv")"

# refused weights
save "$dir/gap.pth" without Mixed_6c.branch7x7dbl_4.bn.running_var
save "$dir/shape.pth" with Mixed_5b.branch1x1.bn.bias 3
head -c 150000 "$dir/old.pth" > "$dir/cut.pth"
printf '\200\2\212\12\154\374\234\106\371\40\152\250\120\31.\200\2M\351\3.\200\2}.cos\nsystem\nX\2\0\0\0id\205R.' \
    > "$dir/hostile.pth"
# shellcheck disable=SC2086
{
    refuses 3 'inception-tensor Mixed_6c.branch7x7dbl_4.bn.running_var' $fid --inception "$dir/gap.pth"
    refuses 3 inception-tensor import "$dir/gap.pth" --out "$dir/gap.safetensors"
    refuses 3 'inception-shape Mixed_5b.branch1x1' $fid --inception "$dir/shape.pth"
    refuses 4 bad-torch-file $fid --inception "$dir/cut.pth"
    refuses 4 'bad-pickle os.system' $fid --inception "$dir/hostile.pth"
    refuses 4 'bad-pickle os.system' import "$dir/hostile.pth" --out "$dir/hostile.safetensors"
    refuses 2 needs-inception $fid --moments "$dir/a.npz"
    refuses 2 inception-needs-eval --data "$dir/a" --inception "$small"
    exits 4 $fid --inception "$dir/none.pth"
    exits 4 $fid --inception "$dir/a"
}
lacks "$dir/gap.safetensors" "$dir/hostile.safetensors"
"$python" - "$dir" "$root/tests/cli" << 'END'
import sys
sys.path.insert(0, sys.argv[2])
import st
entries, meta, data = st.read(sys.argv[1] + '/known.safetensors')
meta = {k: v for k, v in meta.items() if not k.startswith('crc32')}
st.write(sys.argv[1] + '/changed.safetensors', entries, meta, data[:-1] + bytes([data[-1] ^ 1]))
END
# shellcheck disable=SC2086
refuses 3 inception-changed $fid --inception "$dir/changed.safetensors"
finish
