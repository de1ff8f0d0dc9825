#!/bin/sh
# Tensor names of PyTorch: `torch = conv1 bn1` in the model file names them, for import and export.
# $PYTHON makes the weights; PyTorch compares the answers if it is installed.
. "$(dirname "$0")/kit"
[ -n "$python" ] || { skip 'python3 is not here'; finish; }
resnet() { "$python" "$root/tests/cli/torch_resnet.py" "$@"; }

# torchvision's ResNet50, narrower
sed 's/^size = .*/size = 64/; s/^filters = 1000/filters = 192/' models/resnet50-imagenet.cfg |
    awk -F' = ' '$1 == "filters" { $0 = "filters = " $2 / 16 } { print }' > "$dir/narrow.cfg"
resnet write "$dir/torch.safetensors"
notes imagenet-statistics import "$dir/torch.safetensors" --model "$dir/narrow.cfg" --out "$dir/in.safetensors"
prints 'classify: '
exits 0 export "$dir/in.safetensors" --out "$dir/out.safetensors"
resnet same "$dir/torch.safetensors" "$dir/out.safetensors"
fact $? 'export should write what import has read'
quietly import "$dir/out.safetensors" --out "$dir/again.safetensors"
exits 0 data --synthesize "$dir/cats" --count 1 --size 64 -q
exits 0 classify "$dir/in.safetensors" "$dir/cats/cat-00000.png" --top 12 --json
cp "$dir/.out" "$dir/said"
exits 0 classify "$dir/out.safetensors" "$dir/cats/cat-00000.png" --top 12 --json
same "$dir/said" "$dir/.out"
resnet judge "$dir/torch.safetensors" "$dir/cats/cat-00000.png" "$dir/said" > "$dir/judged" 2>&1
case $? in
    0) fact 0 'PyTorch' ;;
    77) skip "$(cat "$dir/judged")" ;;
    *) fact 1 "PyTorch and dcgan should agree: $(tail -n 3 "$dir/judged")" ;;
esac

# the optimizer's moments are those of [train], so that training can continue
"$python" -c 'import st, sys; h, meta, _ = st.read(sys.argv[1])
sys.exit(not ("sgd.m.C.main.0.weight" in h and meta["optimizer"] == "sgd"
and not [k for k in h if k.startswith("adam")]))' "$dir/in.safetensors"
fact $? 'an imported checkpoint should have the moments of sgd'

# refused
exits 4 import "$dir/torch.safetensors" --model resnet50 --out "$dir/none.safetensors"
says shape-mismatch torch.safetensors: conv1.weight '(4, 3, 7, 7)' resnet50 '(64, 3, 3, 3)'
sed 's/^torch = fc/torch = head/' "$dir/narrow.cfg" > "$dir/other.cfg"
exits 4 import "$dir/torch.safetensors" --model "$dir/other.cfg" --out "$dir/none.safetensors"
says foreign-tensor torch.safetensors: fc.weight
sed 's/^channels = .*//; s/^size = .*/size = 64\nchannels = 1/' "$dir/narrow.cfg" > "$dir/grey.cfg"
exits 4 import "$dir/out.safetensors" --model "$dir/grey.cfg" --out "$dir/none.safetensors"
lacks "$dir/none.safetensors"
# another kind of file, and too few class names
printf '[model]\nname = small\nsize = 16\nclasses = 2\n[C.1]\nop = dense\nfilters = 2\ntorch = fc\n' > "$dir/small.cfg"
exits 0 data --synthesize "$dir/two" --classes 2 --count 8 --size 16 -q
exits 0 --data "$dir/two" --model "$dir/small.cfg" --batch 8 --epochs 1 --out "$dir/small" -q
exits 0 --data "$dir/two" --model tests/tiny.cfg --batch 8 --epochs 1 --out "$dir/gan" -q
exits 0 export "$dir/gan" --out "$dir/gan.safetensors"
refuses 2 'other-kind gan.safetensors' export "$dir/small" --out "$dir/gan.safetensors"
says other-kind generator classifier
exits 0 export "$dir/small" --out "$dir/small.safetensors"
exits 0 export "$dir/small" --out "$dir/small.safetensors"
shows 'generate' import "$dir/gan.safetensors" --out "$dir/gan-in.safetensors"
refuses 2 'other-kind gan-in.safetensors' import "$dir/small.safetensors" --out "$dir/gan-in.safetensors"
says other-kind checkpoint classifier
"$python" - "$dir/small.safetensors" "$dir/one.safetensors" << 'END'
import st, sys
header, meta, data = st.read(sys.argv[1])
assert set(header) == {'fc.weight', 'fc.bias'}, header
st.write(sys.argv[2], header, {'model': meta['model'], 'classes': 'a\n'}, data)
END
exits 4 import "$dir/one.safetensors" --out "$dir/none.safetensors"
says class-names-count one.safetensors 1 small 2
lacks "$dir/none.safetensors"
finish
