#!/bin/sh
# Every command with file names and texts that would control a terminal: control characters are escaped, JSON is valid,
# and printed commands can be pasted into a shell. Every command of --help has to be in this test.
# shellcheck disable=SC2086 # options are words
. "$(dirname "$0")/../kit"
needs python3 bash
mkdir "$dir/work" "$dir/log"
cd "$dir/work" || exit 1

# Begins with a dash; an escape sequence, a line of its own, quotes, what a shell would expand, a C1 control character,
# invalid UTF-8, letters that could be taken for digits of \xNN, an override of the direction.
n=$(printf -- \
    '-\033[31m\033]0;title\007\nINJECTED\r\t'\''"`id`$HOME!1 \\\302\233\377ab\360\237\220\261\342\200\256gnp.')
mkdir "./$n.bin"
ln -s "$program" "./$n.bin/dcgan"
called="./$n.bin/dcgan"

runs=0
try() # try CODE COMMAND ARGUMENT...: the outputs are checked at the end; CODE 1-7: any failure
{
    expected=$1
    shift
    runs=$((runs + 1))
    at=$dir/log/$(printf %03d $runs)-$(expr "X$1" : 'X\([a-z]*\)$')
    "$called" "$@" > "$at.out" 2> "$at.err" < /dev/null
    code=$?
    case " $* " in *" --json "*) [ $code -gt 1 ] || : > "$at.json" ;; esac
    case $expected in 1-7) [ $code -ge 1 ] && [ $code -le 7 ] ;; *) [ $code -eq "$expected" ] ;; esac
    fact $? "$runs: $1 exited $code, not $expected: $(cat -v "$at.err" | head -c 600)"
}

both() { try "$@"; try "$@" --json; } # both CODE COMMAND ARGUMENT...: as text and as JSON

# Paste the command after LABEL in the output FILE into a shell: sh, or bash if it has $'...'.
paste_command() # paste_command LABEL FILE
{
    line=$(sed -n "s/^.*$1 *//p" "$2")
    ran="$1 $line"
    shell="sh"
    case $line in *"\$'"*) shell=bash ;; esac
    $shell -c "$line" > "$dir/pasted" 2>&1 < /dev/null
    fact $? "pasted into $shell, it failed: $line: $(cat -v "$dir/pasted" | head -c 600)"
}

cat > make.py <<'END'
import json, struct, sys, zlib
golden, name = sys.argv[1], sys.argv[2].encode('utf-8', 'surrogateescape')
text = name.decode('utf-8', 'replace')
data = open(golden, 'rb').read()
size = int.from_bytes(data[:8], 'little')
def oracle(path, change):
    header = json.loads(data[8:8 + size])
    change(header)
    head = json.dumps(header, ensure_ascii=False).encode()
    open(path, 'wb').write(len(head).to_bytes(8, 'little') + head + data[8 + size:])
def rename(header, old, new): header[new] = header.pop(old)
oracle(b'./' + name + b'.oracle', lambda h: h['__metadata__'].update(torch=text, dtype=text, note=text))
oracle('bad-format', lambda h: h['__metadata__'].update(format=text))
oracle('bad-steps', lambda h: h['__metadata__'].update(steps=text))
oracle('bad-name', lambda h: rename(h, 'init.G.main.0.weight', text))
oracle('lost-name', lambda h: rename(h, 'init.G.main.0.weight', 'elsewhere'))
oracle('bad-type', lambda h: h['images'].update(dtype=text))
oracle('bad-key', lambda h: h['__metadata__'].update({text: text}))
oracle('bad-meta', lambda h: h['__metadata__'].update({text: 1}))
oracle('checkpoint-alike', lambda h: h['__metadata__'].update(format='dcgan-checkpoint-1', precision=text, model=text,
                                                               crc32=text))
oracle('generator-alike', lambda h: h['__metadata__'].update(format='dcgan-generator-1', model=text, step=text))
def chunk(kind, body):
    return struct.pack('>I', len(body)) + kind + body + struct.pack('>I', zlib.crc32(kind + body))
def png(path, *chunks):
    open(path, 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 16, 16, 8, 2, 0, 0, 0)) + \
        b''.join(chunks)
                           + chunk(b'IDAT', zlib.compress((b'\0' + bytes(48)) * 16)) + chunk(b'IEND', b''))
key = name.replace(b'\0', b'')[:70]
png(b'./' + name + b'.png', chunk(b'tEXt', key + b'\0' + name), chunk(b'iTXt', key + b'\0\0\0\0\0' + name))
png(b'./' + name + b'.d/copy of ' + name + b'.png')
png(b'./' + name + b'.d/again ' + name + b'.png')
open(b'./' + name + b'.d/bad ' + name + b'.png', 'wb').write(b'\x89PNG\r\n\x1a\n' + name)
open(b'./' + name + b'.d/' + name + b'.txt', 'wb').write(b'text')
open(b'./' + name + b'.tune', 'wb').write(b'; ' + name.replace(b'\n', b' ').replace(b'\r', b' ') + \
    b'\n[sm_90]\nbce\tn=8 : direct block=64 ; '
                                         + name.replace(b'\n', b' ') + b'\n')
open(b'./' + name + b'.ini', 'wb').write(b'[run]\nepochs = 1\n' + name[1:].split(b'\n')[0] + b' = ' + name[1:])
open(b'./' + name + b'.bad.cfg', 'wb').write(b'[model]\nname = ' + name[1:])
open(b'./' + name + b'.csv', 'wb').write(
    b'epoch,step,loss_d,loss_d_real,loss_d_fake,loss_g,d_x,d_gz1,d_gz2,img_s,seconds\n' + name + b'\n')
END

"$program" data --synthesize "./$n.d" --count 20 --size 16 -q || exit 1
python3 make.py "$root/tests/golden/oracle16.safetensors" "$n" || exit 1
cp "$root/tests/tiny.cfg" "./$n.cfg"

# accepted
try 0 train --data "$n.d" --model "$n.cfg" --batch 8 --epochs 2 --out "$n.run" --cache "$n.cache" --no-curves
cp "$at.out" trained
try 0 verify "./$n.run"
try 1-7 verify "./$n.none"
try 0 train --data "$n.d" --model "$n.cfg" --batch 8 --epochs 2 --out "$n.two" --steps 3 --no-curves
try 0 train --data "$n.d" --model "$n.cfg" --batch 8 --out "$n.none" --dry-run
try 0 generate "./$n.run" --count 2 --out "$n.images"
try 0 generate "./$n.run/checkpoint.safetensors" --count 1
try 0 interpolate "./$n.run" --seeds 1-2 --frames 2 --out "$n.walk"
try 0 data "./$n.d" --size 16 --sheet "$n.sheet"
try 0 data "./$n.d" --size 16 --json
try 0 data --synthesize "./$n.drawn" --count 1 --size 16
both 0 plan "./$n.cfg"
both 0 plan "./$n.cfg" --batch 8 --arch sm_90 --tuning "$n.tune"
both 0 plan "./$n.cfg" --fit --device-memory 1
both 0 batch "./$n.cfg" --data "$n.d" --max-batch 8 --seconds 0.2
try 0 batch "./$n.cfg" --data "$n.d" --min-batch 8 --rule epoch-time --steps 1
try 0 batch "./$n.cfg" --data "$n.d" --sweep 8-12:4 --seconds 0.01
try 0 train --data "$n.d" --model "$n.cfg" --batch auto --epochs 1 --out "$n.auto" --seconds 0.2 --no-curves
try 0 replay "./$n.oracle" --steps 1
try 0 replay "./$n.oracle" --json
try 1 replay "./$n.oracle" --json --tol 1e-30
try 0 check "./$n.cfg" --batch 2 --device cpu
try 0 bench "./$n.cfg" --batch 2 --repeats 1 --json
try 0 profile "./$n.cfg" --batch 2 --repeats 1 --json
try 0 profile "./$n.cfg" --batch 2 --predict h200
try 0 tune --merge "./$n.tune" "./$n.tune" --out "$n.merged"
try 0 tune --merge "./$n.tune" "./$n.tune"
for f in .run .run/checkpoint.safetensors .run/config.ini .run/log.csv .run/log.jsonl .run/epoch-0001.png .png .oracle \
    .cfg .cache; do
    both 0 info "./$n$f"
done
try 0 export "./$n.run" --out "$n.generator"
cp "$at.out" exported
try 0 info "./$n.generator" --json
try 0 import "./$n.generator" --model "$n.cfg" --out "$n.imported"
cp "$at.out" imported
both 0 doctor "./$n.run"
try 1-7 doctor "./$n.none"
try 0 export "./$n.run" --onnx --out "$n.onnx"
try 0 generate "./$n.run" --count 1 --write-z "$n.z" --out "$n.images"
both 0 find "./$n.run" "./$n.images" --steps 2 --starts 1 -n 1 --out "$n.found"
try 0 report "./$n.run"
try 0 report "./$n.run" --out "$n.page"
try 0 report "./$n.run" "./$n.two" --out "$n.page"

# hostile class names
mkdir -p "./$n.classes/a$n" "./$n.classes/b$n"
cp "./$n.d"/cat-0000*.png "./$n.classes/a$n" && cp "./$n.d"/cat-0001*.png "./$n.classes/b$n"
printf '[model]\nname = two\nsize = 16\n[C.1]\nop = dense\nfilters = 2\n' > "./$n.two.cfg"
try 0 train --data "$n.classes" --model "$n.two.cfg" --batch 4 --epochs 1 --test 0.3 --out "$n.labels"
try 0 train --resume --out "$n.labels" --epochs 2
both 0 data "./$n.classes" --size 16
try 0 classify "./$n.labels" "./$n.classes" --sheet "$n.seen"
try 0 classify "./$n.labels" "./$n.classes" "./$n.png" --top 2 --json
try 0 data --synthesize "./$n.many" --count 40 --size 16
try 0 eval "./$n.run" --data "./$n.many" --classifier "./$n.labels"
try 0 eval "./$n.many" --data "./$n.many" --classifier "./$n.labels" --json
both 0 info "./$n.labels/best.safetensors"

# refused
try 1-7 classify "./$n.labels" "./$n.none"
try 1-7 eval "./$n.run" --data "./$n.classes" --classifier "./$n.labels"
try 1-7 train --data "$n.d" --model "$n.two.cfg" --batch 4 --out "$n.left"
try 1-7 train --data "$n.d" --model "$n.cfg" --batch 8 --out "$n.run"
cp "$at.err" already
try 1-7 train --data "$n.none" --out "$n.left"
try 1-7 train --data "$n.d" --model "$n.cfg" --batch 8 --strict --out "$n.left"
try 1-7 train --data "$n.d" --config "$n.ini"
try 1-7 train --resume --out "$n.none"
try 1-7 train --data "$n.d" --epochs "$n"
try 1-7 train --data "$n.d" --device "$n"
try 1-7 train "-$n"
try 1-7 train "$n"
try 1-7 "z$n"
try 1-7 help "$n"
for f in bad-format bad-steps bad-name bad-type bad-key bad-meta checkpoint-alike generator-alike "./$n.png" \
    "./$n.oracle" "./$n.d" "./$n.none"; do
    try 1-7 generate "$f" --out "$n.left"
done
try 1-7 generate "./$n.run" "./$n.run" --out "$n.left"
try 1-7 generate "./$n.run" --out "$n.cfg"
try 1-7 import "./$n.png" --out "$n.left"
try 1-7 import "./$n.oracle" --model "$n.cfg" --out "$n.left"
for f in bad-format bad-steps lost-name; do
    both 1-7 replay $f
done
for f in bad-name bad-type bad-meta "./$n.png"; do try 1-7 replay "$f" --json; done
try 1-7 data "./$n.d" --size 16 --sheet "$n.none/x"
try 1-7 batch "./$n.none" --data "$n.d"
for c in plan batch check bench profile tune; do
    try 1-7 $c "./$n.none"
    try 1-7 $c "./$n.bad.cfg"
    try 1-7 $c --device "$n"
done
try 1-7 plan --arch "$n"
try 1-7 profile --predict "$n"
try 1-7 tune --merge "./$n.none" "./$n.none" --out "$n.merged"
try 1-7 info "./$n.none"
try 0 report "./$n.csv" --out "$n.page2"
try 1-7 report "./$n.none" --out "$n.page2"

# every command was run, also with --json if it has that option
"$program" --help | awk '/^Commands/ { on = 1; next } on && /^$/ { exit } on && /^  [a-z]/ { print $1 }' > commands
ensure "--help should list the commands: $(cat commands)" [ "$(wc -l < commands)" -ge 14 ]
while read -r c; do
    ls "$dir"/log/*-"$c".out > /dev/null 2>&1
    fact $? "the command $c is not tried with hostile names"
    "$program" help "$c" | grep -q -e '  --json' || continue
    ls "$dir"/log/*-"$c".json > /dev/null 2>&1
    fact $? "--json of $c is not tried with hostile names"
done < commands

cat > judge.py <<'END'
import json, pathlib, re, sys
wrong = 0
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    if path.suffix == '.json': continue
    raw = path.read_bytes()
    try:
        text = raw.decode()
        # between its values; in them it is escaped
        if path.with_suffix('.json').exists(): text = text.replace('\t', ' ')
        bad = re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]|'
                        '^INJECTED', text, re.M)
        why = bad and ascii(text[max(0, bad.start() - 60):bad.end() + 60])
    except UnicodeDecodeError as e:
        why = f'{e}: {raw[max(0, e.start - 60):e.end + 60]}'
    if path.suffix == '.out' and path.with_suffix('.json').exists():
        try: json.loads(raw)
        except ValueError as e: why = why or f'no JSON: {e}: {raw[:200]}'
    elif path.suffix == '.out' and raw[:1] == b'{':
        why = why or 'JSON of a command that failed'
    if why: print(f'{path.name}: {why}'); wrong += 1
sys.exit(wrong > 0)
END
python3 judge.py "$dir/log" > judged
fact $? "raw on a terminal, or no JSON: $(head -n 20 judged)"

# printed commands work
paste_command 'more:' trained
holds "./$n.run/epoch-0004.png"
paste_command 'images:' trained
holds "./$n.run/generated-2/grid.png" # generated/ has a sample of an earlier epoch
paste_command 'images:' imported
holds generated/grid.png
sed -n 's/^in Python: //p' exported > line.py
printf '%s\n' 'class net: load_state_dict = print' 'class torch: load_file = lambda f: len(open(f, "rb").read())' \
    'class safetensors: torch = torch' 'netG = net' | cat - line.py > with_classes.py && mv with_classes.py line.py
python3 line.py > pasted.py 2>&1
fact $? "pasted into Python, it failed: $(cat -v pasted.py)"
sed 's/  or start another.*//' already > resume
paste_command 'Resume it:' resume
sed 's/.*--out/--out/' already > other
[ "$(bash -c "printf %s $(sed 's/^--out //' other)")" = "./$n.run-2" ]
fact $? "the next directory should be $n.run-2: $(cat other)"

# one kind of hostile name each, the program in a folder with blanks: printed commands work in sh, without $'...'
mkdir "it's a folder"
ln -s "$program" "it's a folder/dcgan"
called="./it's a folder/dcgan"
begin='train --data cats --model tiny.cfg --batch 8 --epochs 1 --no-curves -q'
"$program" data --synthesize cats --count 16 --size 16 -q && cp "$root/tests/tiny.cfg" tiny.cfg
printf '%s\n' 'two  blanks' "it's" '"double"' '$HOME' '`id`' '-n' '--' '!!' 'back\slash' '*?[a]' './~' 'a;b' \
    'a&b' '#x' 'k=v' 'käse' > names
while IFS= read -r one; do
    try 0 $begin --out "$one"
    try 2 $begin --out "$one"
    sed 's/  or start another.*//' "$at.err" > resume
    grep -qF "\$'" resume && fact 1 "$one needs no \$'...'"
    line=$(sed -n 's/^.*Resume it: *//p' resume)
    sh -c "$line --epochs 2" > "$dir/pasted" 2>&1 < /dev/null
    fact $? "pasted into sh, it failed: $line: $(cat "$dir/pasted")"
    ran=$line
    holds "./$one/epoch-0002.png"
done < names
finish
