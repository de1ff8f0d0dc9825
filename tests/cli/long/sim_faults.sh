#!/bin/sh
# Faults of a GPU, on the simulated one: the run exits 5, names the op or what is missing, keeps its last checkpoint,
# and resumes to the same bytes. `--device cuda` never falls back to the CPU.
. "$(dirname "$0")/sim_kit"
exits 0 data --synthesize "$dir/cats" --count 10 --size 16 || finish
trains calls 0 one --epochs 2 --checkpoint-every 1 # with auto the number of calls varies
calls=$(sed -n 's/^sim: \([0-9]*\) calls$/\1/p' "$dir/.err")

# goes_on_as_one OUT: it resumes from a checkpoint to the state of the run `one`
goes_on_as_one()
{
    shows 'checksums: right' info "$dir/$1/run/checkpoint.safetensors"
    goes_on '' 0 "$1"
    same_run one "$1"
}

# the device fails in the second epoch
trains 'fault=D.2.conv.dw:7:700' 5 eager --epochs 2 --no-graph
says device-lost D.2.conv.dw: '(cudaErrorIllegalAddress, 700) on cuda:0, Simulated GPU 0'
ensure "one message should be enough: $(cat "$dir/.err")" [ "$(wc -l < "$dir/.err")" -eq 1 ]
goes_on_as_one eager
trains 'uneven fault=G.adam:5:214' 5 graph --epochs 2
says device-lost ECC
says no-graph-hint no-graph
goes_on_as_one graph

# a refused launch: in the capture of the graph, and later without a graph
trains 'refuse=G.2.conv_transpose.fwd:2:9' 5 refused --epochs 2
stderr_has 'dcgan: G.2.conv_transpose.fwd: ' .cu: '(cudaErrorInvalidConfiguration, 9)'
lacks "$dir/refused/run/checkpoint.safetensors"
# a launch that the driver cannot capture is repeated without overlap
trains 'refuse=G.2.conv_transpose.fwd:2:801' 0 plainly --epochs 2
says no-overlap G.2.conv_transpose.fwd:
same_run one plainly
trains driver=12020 0 old --epochs 2
same_run one old
trains 'refuse=D.1.conv.fwd.g:5:701' 5 refused2 --epochs 2 --no-graph
stderr_has 'dcgan: D.1.conv.fwd.g: ' 'too many resources requested for launch'
goes_on_as_one refused2

# memory: the check comes before any allocation
trains memory=200 5 small --epochs 2
says does-not-fit '--batch 4' 'cuda:0, Simulated GPU 0' ' MB'
lacks "$dir/small"
trains 'memory=270' 5 large --epochs 2 --batch 10
says advice-largest-batch
batch=$(sed -n 's/.*\[advice-largest-batch\][^0-9]*\([0-9]*\).*/\1/p' "$dir/.err")
trains 'memory=270' 0 fits --epochs 1 --batch "$batch"
trains 'memory=270' 5 larger --epochs 1 --batch $((batch + 1))

# CUDA calls fail at the start, in the middle and at the end, with recoverable and with fatal errors
ensure "a run should make hundreds of calls, not ${calls:-none}" [ "${calls:-0}" -gt 200 ]
# Errors of frees, of repeated or optional queries, and at the very end may be ignored. The end may come some calls
# earlier than in the counted run.
overlooked()
{
    call=$(sed -n 's/^sim: \(.*\) fails$/\1/p' "$dir/.err")
    case $call in
    *Destroy | release_memory | cudaEventQuery | cudaGetDevice* | sim_func) ;;
    *)
        ensure "$ran: ${call:-it never came, and} was not noticed" [ $part -gt 90 ]
        ;;
    esac
}
noticed=0 tried=0
for part in 1 3 9 18 30 45 60 70 85 97; do
    for error in 2 719; do
        tried=$((tried + 1))
        at=$((calls * part / 100 + error % 7))
        export SIM="fail=$at:$error"
        rm -rf "$dir/fail"
        "$program" --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --seed 5 --flip -q --no-curves \
            --out "$dir/fail/run" --epochs 2 --checkpoint-every 1 > "$dir/.out" 2> "$dir/.err"
        code=$?
        unset SIM
        ran="call $at of $calls failing with $error"
        case $code in
            0) overlooked ;;
            5) noticed=$((noticed + 1))
                stderr_has "$([ $error -eq 2 ] && echo 'out of memory' || echo 'unspecified launch failure')" ;;
            *) fact 1 "$ran: exit code $code" ;;
        esac
        if [ -e "$dir/fail/run/config.ini" ] &&
            [ -e "$dir/fail/run/checkpoint.safetensors" ]; then
            goes_on_as_one fail
        fi
    done
done
ensure "$noticed of $tried errors were noticed" [ $((noticed * 2)) -gt "$tried" ]

# no device, or an unusable one
for words in devices=0 'trouble=35 driver=0' 'trouble=35 driver=11080' trouble=999 sm=70; do
    trains "$words" 5 none --epochs 1
    stderr_has '--device cuda:'
    lacks "$dir/none"
    sim "$words" 0 plan "$root/tests/tiny.cfg" --device auto
done
trains 'devices=1' 5 none --epochs 1 --device cuda:1
says device-number cuda:1 ' 1 CUDA'
goes_on devices=0 5 eager --epochs 3
stderr_has '--device cpu'
finish
