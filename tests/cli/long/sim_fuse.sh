#!/bin/sh
# Fused launches on the simulated GPU: each gives what its ops give one by one, each kind of fusion switched off in
# turn; training with and without them gives the same results. That a fused run has one result in every order and
# resumes correctly is tested by sim_train.sh and sim_precision.sh: fusing is the default.
. "$(dirname "$0")/sim_kit"

# Every kind of layer of the published network, as narrow as tensor cores allow.
awk '/^filters = / && $3 > 3 { if (!least) least = $3; if ($3 < least) least = $3 } { print }
    END { print "# least " least }' "$root/models/dcgan32.cfg" > "$dir/.narrow"
least=$(sed -n 's/^# least //p' "$dir/.narrow")
awk -v l="$least" '/^filters = / && $3 > 3 { $3 = $3 / l * 16 } { print }' "$root/models/dcgan32.cfg" > \
    "$dir/narrow.cfg"
widen

# agrees LAUNCHES WORDS ARGUMENT...: of a full and of a short step
agrees()
{
    launches=$1 words=$2
    shift 2
    sim "$words" 0 check "$@" --device cuda
    silent
    prints "$launches fused launches agree with single ops"
}
agrees 44 'random lazy uneven' "$dir/narrow.cfg" --batch 3 --precision bf16
awk '/^\[D\]/ { d = 1 } d { sub(/^norm = batch/, "norm = spectral") } !(d && /^norm = none/)' "$dir/narrow.cfg" \
    > "$dir/spectral.cfg"
agrees 100 'random lazy uneven' "$dir/spectral.cfg" --batch 3 --precision bf16 # D multiplies with normalised weights
agrees 32 'reverse deferred' "$dir/wide.cfg" --batch 5 --precision bf16
agrees 86 'random lazy uneven' "$root/tests/penalty.cfg" --batch 3 --precision bf16
prints 'gradient penalty: squared norms agree'
sed 's/^\[D.3\]/[D.4]/; s/^\[D.2\]/&\nfilters = 16\nkernel = 3\nstride = 1\nadd = D.1\n[D.3]/' \
    "$root/tests/penalty.cfg" > "$dir/residual.cfg"
agrees 138 'reverse deferred' "$dir/residual.cfg" --batch 3 --precision bf16
for without in convs update; do
    sim forward 0 check "$dir/wide.cfg" --batch 3 --precision bf16 --fuse "-$without"
    prints ' fused launches agree with single ops'
done
sim forward 0 check "$dir/wide.cfg" --batch 4 --fuse none
! grep -q launches "$dir/.out"
fact $? 'nothing is fused with --fuse none'

exits 0 data --synthesize "$dir/cats" --count 10 --size 16 || finish
# close COLUMN LIMIT NAME: a column of the logs of $dir/NAME and $dir/NAME-none differs by rounding only
close()
{
    awk -F, -v k="$1" -v limit="$2" 'FNR < 2 { next } NR == FNR { a[FNR] = $k; next }
        { d = a[FNR] - $k; if (d < 0) d = -d; if (!(d < limit * $k)) bad++; n++ }
        END { exit bad || n != 6 }' "$dir/$3/run/log.csv" "$dir/$3-none/run/log.csv"
    fact $? "$3: column $1 of a fused run should be that of one that is not"
}
begins forward all --epochs 2 --precision bf16
begins random all-none --epochs 2 --precision bf16 --fuse none
close 4 0.02 all
network=$root/tests/penalty.cfg
begins 'random lazy uneven' penalised --epochs 2 --precision bf16
begins random penalised-none --epochs 2 --precision bf16 --fuse none
for column in 4 10; do close $column 0.005 penalised; done
! cmp -s "$dir/all/run/checkpoint.safetensors" "$dir/all-none/run/checkpoint.safetensors"
fact $? 'fused sums should be rounded differently, or --fuse does nothing'
config "$dir/all-none/run" 'fuse = none'

# times of launches in graphs: a row per fused launch, which add up to the step
sim forward 0 profile "$root/tests/tiny.cfg" --batch 3 --precision bf16 --in-graph --repeats 1 -q
awk '/^launches in CUDA graphs/ { table = 1 } !table { next } $1 == "step" { step = $3 }
    $4 + 0 > 0 && step == "" { n++; sum += $3 }
    END { exit !(n > 20 && sum - step < 0.01 * n && step - sum < 0.01 * n) }' "$dir/.out"
fact $? 'the launches should add up to the step' "$dir/.out"

# an error names the launch
sim 'fault=D.2.conv.dx:2:700' 5 --data "$dir/cats" --model "$dir/wide.cfg" --batch 4 -q --no-curves --no-graph \
    --precision bf16 --out "$dir/bad/run"
stderr_has D.2.conv.dx
sim forward 2 check "$dir/wide.cfg" --fuse -norm
says bad-fuse -norm 'all, none, convs, update, overlap, branches' 'input, norm, stats, act, grad and head'
finish
