#!/bin/sh
# report.html of a run and `dcgan report`.
# shellcheck disable=SC2086 # $train is several words
. "$(dirname "$0")/kit"
cd "$dir" || exit 1
page() # page FILE WORDS...: the page is well-formed, loads no other file, and has these words
{
    [ -n "$python" ] || return 0
    "$python" "$root/tests/cli/page.py" "$@" > .page 2>&1
    fact $? "$1: $(head -n 5 .page)"
}

exits 0 data --synthesize cats --count 40 --size 16 || finish
hostile='<b onload=x>&"'\''</script>'
train="--data cats --model $root/tests/gan16.cfg --batch 16 --grid 2x3 -q"

# written while training, and the same bytes later, because it has no date
quietly $train --epochs 4 --out "$hostile/run"
cp "$hostile/run/report.html" one.html
page one.html 'Samples after epoch 4' 'Real images' 'D(x)' 'Nearest training images' 'gan16' 'epoch 4 of 4, step 12' \
    'loss_d_fake' '--epochs 8' '</script>' 'batch 16' 'cpu'
exits 0 report "$hostile/run" -q
same one.html "$hostile/run/report.html"
shows 'two.html: 1 run' report "$hostile/run/" --out two.html
ensure 'a small run should have a small page' [ "$(wc -c < one.html)" -lt 200000 ]
# its commands work in a shell
if [ -n "$python" ]; then
    "$python" - "$hostile" << 'END' > commands
import html, re, sys
text = open('one.html', encoding='utf-8').read()
for c in re.findall('<pre[^>]*>(.*?)</pre>', text, re.S):
    print(html.unescape(c))
END
    command=$(sed -n '/ report /p' commands)
    rm "$hostile/run/report.html"
    (eval "$command") > .out 2>&1 && [ -s "$hostile/run/report.html" ]
    fact $? "the command should work in a shell: $command"
fi

mv "$hostile/run" "$hostile/
<i>"
exits 0 report "$hostile/
<i>" --out odd.html
page odd.html '\x0a<i>'
mv "$hostile/
<i>" "$hostile/run"

# only the report of a run that is training reloads itself (long/live_report.sh has it in a browser)
live() { grep -q '<p class="note" id="live" data-step="[0-9]*">' "$1"; }
! live one.html
fact $? 'the report of a finished run should not reload itself'
"$program" $train --epochs 100000 --checkpoint-every 0 --out training 2> .err &
training=$! n=0
while [ $n -lt 600 ] && ! live training/report.html 2> .err; do n=$((n + 1)) && sleep 0.05; done
ensure 'a report should be live during the training' live training/report.html
kill -STOP $training
exits 0 report training -q --out other.html
! live other.html
fact $? 'a report that the run does not write should not reload itself'
exits 0 report training -q
ensure 'dcgan report should see that the run is training' live training/report.html
kill -CONT $training
kill $training
wait $training
! live training/report.html
fact $? 'the report of an interrupted run should not reload itself'
killed killed $train --epochs 100000
exits 0 report killed -q
! live killed/report.html
fact $? 'dcgan report should see that the run was killed'

# a resumed run updates it
exits 0 --resume --out "$hostile/run" --epochs 5 -q
page "$hostile/run/report.html" 'epoch 5 of 5, step 15'
holds "$hostile/run/nearest.png"

# an error of the report does not stop the run
exits 0 $train --epochs 1 --no-report --out plain
lacks plain/report.html plain/session.json plain/nearest.png
cp -r plain blocked
mkdir blocked/report.html
notes 'no-report blocked/report.html' --resume --out blocked --epochs 2 --no-report=no -q
holds blocked/epoch-0002.png
refuses 4 'exists-as blocked/report.html' report blocked

# missing and damaged files are left out
exits 0 report plain
page plain/report.html 'Settings' 'Samples after epoch 1'
mkdir bare
cp plain/log.csv bare
head -c 100 plain/epoch-0001.png > bare/epoch-0001.png
printf '1,2,0.5' >> bare/log.csv
exits 0 report bare
page bare/report.html 'Curves' 'step 3'
if grep -q 'id="samples"' bare/report.html; then fact 1 'a damaged grid is none'; fi
mkdir begun
cp plain/config.ini begun
exits 0 report begun
page begun/report.html 'no steps yet'
mkdir folder
refuses 3 'report-not-a-run folder' report folder
refuses 4 'report-no-directory none' report none
echo a,b > folder/log.csv
refuses 3 'report-not-a-log folder/log.csv' report folder
refuses 3 'report-not-a-log folder/log.csv' report folder/log.csv --out no.html

# several runs
exits 0 $train --epochs 3 --lr 0.001 --no-report --out other
shows 'both.html: 2 runs' report "$hostile/run" other --out both.html
page both.html 'Settings that differ' 'lr' '0.001' 'other, epoch 3' 'run, epoch 5' 'Loss of D'

# logs without a run directory: also of another program, with the metrics of --eval-every, and while they are written
log() # log FILE EPOCHS LOSS [MEASURES]: the last column is empty except in every tenth row
{
    printf 'epoch,step,loss_d,loss_d_real,loss_d_fake,loss_g,d_x,d_gz1,d_gz2,img_s,seconds%s\n' \
        "${4:+,swd,random_frechet,recall,coverage,nearest}" > "$1"
    awk -v n="$2" -v loss="$3" -v more="${4-}" 'BEGIN { for (i = 1; i <= 10 * n; i++)
        printf "%d,%d,%g,%g,%g,%g,,,,100,%g%s\n", (i + 9) / 10, i, 2 * loss, loss, loss, loss + i / n, i / 10,
            more ? ",," (i % 10 ? "" : 9 - i / 20) ",,," : "" }' >> "$1"
}
log one.csv 9 0.7
log two.csv 5 0.5
log judged.csv 9 0.5 yes
shows 'logs.html: 2 runs' report one.csv two.csv --out logs.html
silent
page logs.html 'Loss of D' 'one.csv' 'two.csv'
if grep -q 'Frechet' logs.html; then fact 1 'a metric that no run has needs no plot'; fi
printf '6,51,1,0.5,0.' >> two.csv # an incomplete last line
exits 0 report one.csv two.csv --out torn.html
same logs.html torn.html
exits 0 report plain judged.csv --out judged.html
page judged.html 'judged.csv' 'Frechet distance, random network' 'plain'
if grep -q 'Wasserstein' judged.html; then fact 1 'a metric that no run has needs no plot'; fi
exits 0 report one.csv --out one-log.html
page one-log.html 'one.csv' 'epoch 9, step 90'
echo '9,91,many,1,1,1,,,,1,1' >> one.csv
exits 0 report one.csv --out bad-row.html
stderr_has 'line 92 of one.csv'
refuses 4 'report-no-directory one.csv' report one.csv
refuses 2 'no-operands report RUN|LOG...' report
refuses 2 'report-without-out dcgan report RUN... --out FILE.html' report plain other
refuses 2 'compare-no-steps begun' report plain begun --out no.html
refuses 2 "unexpected-operand 'h'" report a b c d e f g h --out no.html

# the GIF: five grids of 2x3 images of 16 pixels, the last one eight times
shows 'run.gif: 5 grids' report "$hostile/run" --gif run.gif --out one.html
[ "$(od -An -tu2 -j6 -N4 run.gif | tr -s ' ' x)" = x784x532 ]
fact $? "run.gif should be 784 x 532: $(od -An -tu2 -j6 -N4 run.gif)"
exits 0 report "$hostile/run" --gif small.gif --scale 1 --out one.html -q
[ "$(od -An -tu2 -j6 -N4 small.gif | tr -s ' ' x)" = x56x38 ]
fact $? "small.gif should be 56 x 38: $(od -An -tu2 -j6 -N4 small.gif)"
refuses 3 'no-grids begun' report begun --gif no.gif
refuses 2 'gif-of-one-run --gif no.gif' report plain other --out both.html --gif no.gif
lacks no.gif

# a classifier: curves, confusion matrix and most confident mistakes, no slider
exits 0 data --synthesize shapes --classes 3 --count 60 --size 16
exits 0 --data shapes --model "$root/tests/eyes16.cfg" --batch 16 --epochs 2 --test 0.3 -q --out eyes
page eyes/report.html 'Test images' 'Most confident mistakes' 'test_accuracy' 'for testing'
if grep -q 'id="slider"' eyes/report.html; then fact 1 'a classifier has no samples'; fi
exits 2 report plain eyes --out no.html
says other-training eyes plain
lacks no.html

# rewinding moves the later page
exits 0 --resume "$hostile/run/checkpoint-0004.safetensors" --epochs 4 -q
page "$hostile/run/report.html" 'epoch 4 of 4'
holds "$hostile/run/later-than-0004/report.html"

finish
