#!/bin/sh
# `dcgan verify`: accepts runs of GANs and classifiers, also with shards, ended within an epoch or with settings that
# changed earlier. It refuses an altered checkpoint, another dataset, setting, version or instruction set, and a run
# that is in use. It changes no file of the run and leaves no temporary file.
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
mkdir tmp && export TMPDIR="$dir/tmp"
exits 0 data --synthesize cats --count 24 --size 16 -q || finish
run() { exits 0 --data cats --model "$root/tests/tiny.cfg" --batch 8 --grid 2x2 --no-report -q "$@"; }
files() { find "$1" -type f -exec cksum {} + | sort && find "$1" -printf '%p %i %m %T@\n' | sort; }
emptied() { ensure "'$ran' should leave no temporary file" [ -z "$(ls -A tmp)" ]; }
# accepts RUN OLDER STEPS [OPTION]...
accepts()
{
    of=$1 older=$2 steps=$3
    shift 3
    files "$of" > before
    exits 0 verify "$of" "$@"
    prints "follows from $older: $steps" ' equal tensors'
    files "$of" | cmp -s - before
    fact $? "verify should change no file of $of"
    emptied
}
refused() { refuses "$@" && emptied; }
# altered RUN: a copy of gan
altered() { rm -rf "$1" && cp -a gan "$1"; }
# edit FILE STATEMENT: changes metadata m, or the bytes d of the tensor G.main.0.weight, with right checksums
edit()
{
    "$python" - "$@" << 'END'
import json, st, sys, zlib
entries, m, data = st.read(sys.argv[1])
begin, end = entries['G.main.0.weight']['data_offsets']
d = bytearray(data[begin:end])
exec(sys.argv[2])
data = data[:begin] + bytes(d) + data[end:]
crc = lambda b: '%08x' % zlib.crc32(b)
m['crc32.G.main.0.weight'] = crc(bytes(d))
m['crc32'] = '00000000'
text = json.dumps({'__metadata__': m, **entries}, separators=(',', ':')).encode()
text += b' ' * (-len(text) % 8)
whole = len(text).to_bytes(8, 'little') + text
with open(sys.argv[1], 'wb') as f:
    f.write(whole.replace(b'"crc32":"00000000"', b'"crc32":"%s"' % crc(whole).encode()) + data)
END
    fact $? "$1 should be edited"
}

run --epochs 3 --checkpoint-every 1 --keep 2 --out gan
accepts gan checkpoint-0002.safetensors '3 steps repeated (7 to 9)' --threads 1 -q
silent
accepts gan/checkpoint-0001.safetensors checkpoint-0001.safetensors '6 steps repeated (4 to 9)' --threads 2
run --steps 8 --epochs 3 --checkpoint-every 1 --shards 2 --out within
accepts within checkpoint-0002.safetensors '2 steps repeated (7 to 8)'
exits 0 data --synthesize shapes --classes 3 --count 36 --size 16 -q
exits 0 --data shapes --model "$root/tests/eyes16.cfg" --test 0.25 --batch 8 --epochs 2 --checkpoint-every 1 -q \
    --out eyes
accepts eyes checkpoint-0001.safetensors '4 steps'

# a run that changes its settings within an epoch is verified from a later epoch on
exits 0 --resume --out within --lr 0.001 --steps 10 -q
refused 2 'verify-changed-since lr = 0.001' verify within
says verify-changed-since 'lr = 0.0002' 'step 8' 'step 6'
exits 0 --resume --out within --steps 0 --epochs 4 -q
accepts within checkpoint-0003.safetensors '3 steps'

if [ -n "$python" ]; then
    altered one
    edit one/checkpoint.safetensors 'd[8] ^= 1'
    refused 1 'verify-differs G.main.0.weight' verify one -q
    says verify-differs ' 1 of '
    altered one
    edit one/checkpoint-0002.safetensors 'd[8] ^= 1'
    exits 1 verify one -q
    says verify-differs tensors
    altered one
    edit one/checkpoint.safetensors 'm["images-shown"] = "5"'
    refused 1 'verify-metadata images-shown' verify one -q
    altered one
    edit one/checkpoint.safetensors 'm["version"] = "dcgan 0.0.9"'
    edit one/checkpoint-0002.safetensors 'm["version"] = "dcgan 0.0.9"'
    refused 2 'verify-elsewhere dcgan 0.0.9' verify one
    says verify-elsewhere "$("$program" --version | head -n 1)"
    edit one/checkpoint.safetensors 'del m["device"]'
    refused 2 'verify-no-record one/checkpoint.safetensors' verify one
else
    skip 'no checkpoint is altered: no python3'
fi

exits 0 info gan/checkpoint.safetensors
here=$(sed -n 's/^device: CPU, //p' .out) other=base
[ "$here" != base ] || other=avx2
if [ -n "$here" ] && DCGAN_ISA=$other "$program" plan "$root/tests/tiny.cfg" > .plan 2>&1; then
    export DCGAN_ISA=$other
    refused 5 "verify-elsewhere CPU, $here" verify gan
    says verify-elsewhere "CPU, $other"
    # resumed within an epoch with another instruction set
    altered sets && rm sets/checkpoint-0002.safetensors
    exits 0 --resume --out sets --epochs 4 -q
    refused 2 "verify-changed-since CPU, $here, then CPU, $other" verify sets/checkpoint-0001.safetensors
    accepts sets checkpoint-0003.safetensors '3 steps'
    unset DCGAN_ISA
else
    skip 'this CPU has one instruction set'
fi

altered one && sed -i 's/^lr = .*/lr = 0.1/' one/config.ini
refused 2 'verify-settings lr = 0.1' verify one
says verify-settings 'lr = 0.0002'
altered one && rm one/config.ini
exits 4 verify one
stderr_has config.ini
altered one && rm one/checkpoint-*
refused 2 'verify-nothing-kept one' verify one
altered one && cp one/checkpoint.safetensors one/checkpoint-0009.safetensors
refused 2 'verify-not-older step 9' verify one/checkpoint-0009.safetensors
accepts one checkpoint-0002.safetensors '3 steps' # the checkpoint of epoch 9 is not older
cp -r cats more && cp more/cat-00001.png more/x.png
refused 3 'verify-data 24' verify gan --data more
mv cats gone
exits 3 verify gan
mv gone cats
altered one && rm one/checkpoint.safetensors
refused 4 no-checkpoint-yet verify one
refused 4 not-a-run verify cats
TMPDIR=$dir/none refuses 4 'verify-no-temporary none' verify gan

# a run that is training; then a verification that is interrupted
"$program" --resume --out gan --epochs 100000 --checkpoint-every 0 -q 2> .training &
training=$!
n=0
while [ $n -lt 400 ] && [ "$("$program" info gan --json 2> .err | grep -c '"in use":.*true')" -eq 0 ]; do
    n=$((n + 1)) && sleep 0.05
done
refuses 7 run-in-use verify gan
sleep 1
kill -TERM $training
wait $training
ensure 'the training should end at the signal' [ $? -eq 143 ]
"$program" verify gan/checkpoint-0002.safetensors -q > .out 2> .err &
verifying=$! n=0
while [ $n -lt 400 ] && [ -z "$(find tmp -name run.lock)" ]; do n=$((n + 1)) && sleep 0.02; done
kill -TERM $verifying
wait $verifying
exited $? 143 'an interrupted verification'
emptied
finish
