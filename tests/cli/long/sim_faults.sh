#!/bin/sh
# What can go wrong on a GPU, on the simulated one: the run ends with exit code 5, says which op or what is missing,
# leaves its last checkpoint intact, and goes on from there to the same bytes. `--device cuda` never becomes the CPU.
. "$(dirname "$0")/sim_kit"
exits 0 data --synthesize "$dir/cats" --count 10 --size 16 || finish
trains calls 0 one --epochs 3 --checkpoint-every 1 # auto makes more or fewer calls
calls=$(sed -n 's/^sim: \([0-9]*\) calls$/\1/p' "$dir/.err")

# goes_on_as_one OUT: from the checkpoint of a whole epoch
goes_on_as_one()
{
    exits 0 info "$dir/$1/run/checkpoint.safetensors"
    prints 'checksums: right'
    goes_on '' 0 "$1"
    same_run one "$1"
}

# the device breaks in the second epoch
trains 'fault=D.2.conv.dw:7:700' 5 eager --epochs 3 --no-graph
says 'dcgan: D.2.conv.dw: '
says 'an illegal memory access was encountered (cudaErrorIllegalAddress, 700) on cuda:0, Simulated GPU 0'
says 'the last checkpoint is intact'
[ "$(wc -l < "$dir/.err")" -eq 1 ]
fact $? "one message should be enough: $(cat "$dir/.err")"
goes_on_as_one eager
trains 'uneven fault=G.adam:5:214' 5 graph --epochs 3
says 'uncorrectable ECC error'
says 'it is named where no graph is captured (no-graph)'
goes_on_as_one graph

# a launch that is refused: while the graph is captured, and later without one
trains 'refuse=G.2.conv_transpose.fwd:2:9' 5 refused --epochs 3
says 'dcgan: G.2.conv_transpose.fwd: '
says '.cu:'
says 'invalid configuration argument (cudaErrorInvalidConfiguration, 9)'
lacks "$dir/refused/run/checkpoint.safetensors"
# what a driver may not capture is tried without overlap
trains 'refuse=G.2.conv_transpose.fwd:2:801' 0 plainly --epochs 3
says 'warning: G.2.conv_transpose.fwd: '
says 'kernels do not begin before those in front of them have ended'
same_run one plainly
trains driver=12020 0 old --epochs 3
same_run one old
trains 'refuse=D.1.conv.fwd.g:5:701' 5 refused2 --epochs 3 --no-graph
says 'dcgan: D.1.conv.fwd.g: '
says 'too many resources requested for launch'
goes_on_as_one refused2

# memory: what does not fit is known before anything is allocated; then other programs may still have been quicker
trains memory=200 5 small --epochs 3
says '--batch 4 does not fit on cuda:0, Simulated GPU 0'
says 'MB are needed'
lacks "$dir/small"
trains 'memory=270' 5 large --epochs 3 --batch 10
says 'the largest batch that fits is '
batch=$(sed -n 's/.*the largest batch that fits is \([0-9]*\).*/\1/p' "$dir/.err")
trains 'memory=270' 0 fits --epochs 1 --batch "$batch"
trains 'memory=270' 5 larger --epochs 1 --batch $((batch + 1))

# any call of CUDA fails, at the beginning, in the middle and at the end, with an error that passes or one that does not
[ "${calls:-0}" -gt 300 ]
fact $? "a run should make hundreds of calls, not ${calls:-none}"
# Nobody has to look at what gives something back, at questions that are asked again or whose answer may be no, and at
# the end of it all, which may come some questions earlier than in the run whose calls were counted.
overlooked()
{
    call=$(sed -n 's/^sim: \(.*\) fails$/\1/p' "$dir/.err")
    case $call in
    *Destroy | release_memory | cudaEventQuery | cudaGetDevice* | sim_func) ;;
    *)
        [ $part -gt 90 ]
        fact $? "$ran: ${call:-it never came, and} was not noticed"
        ;;
    esac
}
noticed=0 tried=0
for part in 1 3 9 18 30 45 60 70 85 97; do
    for error in 2 719; do
        case $slow:$part:$error in
            :* | yes:9:719 | yes:45:719 | yes:97:719 | yes:30:2 | yes:70:2) ;;
            *) continue ;;
        esac
        tried=$((tried + 1))
        at=$((calls * part / 100 + error % 7))
        export SIM="fail=$at:$error"
        rm -rf "$dir/fail"
        "$program" --data "$dir/cats" --model "$root/tests/tiny.cfg" --batch 4 --seed 5 --flip -q --no-curves \
            --out "$dir/fail/run" --epochs 3 --checkpoint-every 1 > "$dir/.out" 2> "$dir/.err"
        code=$?
        unset SIM
        ran="call $at of $calls failing with $error"
        case $code in
            0) overlooked ;;
            5) noticed=$((noticed + 1))
                says "$([ $error -eq 2 ] && echo 'out of memory' || echo 'unspecified launch failure')" ;;
            *) fact 1 "$ran: exit code $code" ;;
        esac
        if [ -e "$dir/fail/run/config.ini" ] &&
            [ -e "$dir/fail/run/checkpoint.safetensors" ]; then
            goes_on_as_one fail
        fi
    done
done
[ $((noticed * 2)) -gt "$tried" ]
fact $? "$noticed of $tried errors were noticed"

# no device, or one that cannot be used
for words in devices=0 'trouble=35 driver=0' 'trouble=35 driver=11080' trouble=999 sm=70; do
    trains "$words" 5 none --epochs 1
    says '--device cuda:'
    lacks "$dir/none"
    sim "$words" 0 plan "$root/tests/tiny.cfg" --device auto
done
trains 'devices=1' 5 none --epochs 1 --device cuda:1
says 'this machine has 1 CUDA device, numbered from 0'
goes_on devices=0 5 eager --epochs 4
says '--device cpu needs none'
finish
