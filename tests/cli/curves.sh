#!/bin/sh
# dcgan curves: several runs in one image.
. "$(dirname "$0")/kit"

log() # log FILE STEPS LOSS: as tools/bench/bench_numpy.py writes it, without the mean outputs of D
{
    echo 'epoch,step,loss_d,loss_d_real,loss_d_fake,loss_g,d_x,d_gz1,d_gz2,img_s,seconds' > "$1"
    awk -v n="$2" -v loss="$3" 'BEGIN { for (i = 1; i <= n; i++)
        printf "1,%d,%g,%g,%g,%g,,,,100,%g\n", i, 2 * loss, loss, loss, loss + i / n, i / 10 }' >> "$1"
}
mkdir "$dir/one"
log "$dir/one/log.csv" 300 0.7
log "$dir/other-losses.csv" 5 0.5

shows "$dir/both.png: 2 runs" curves "$dir/one/" "$dir/other-losses.csv" --out "$dir/both.png"
silent
shows '900 x 760' info "$dir/both.png"
exits 0 curves "$dir/one" --out "$dir/one.png" -q
exits 0 curves "$dir/one/log.csv" "$dir/other-losses.csv" --out "$dir/log.png" -q
differ "$dir/one.png" "$dir/both.png" 'a second run should change the image'
exits 0 curves "$dir/one/" "$dir/other-losses.csv" --out "$dir/again.png" -q
same "$dir/both.png" "$dir/again.png"
# the legend has the name of the run, without the ending of a file of losses
cp "$dir/other-losses.csv" "$dir/other.csv"
exits 0 curves "$dir/one" "$dir/other.csv" --out "$dir/same-name.png" -q
same "$dir/both.png" "$dir/same-name.png"
cp "$dir/other-losses.csv" "$dir/another.csv"
exits 0 curves "$dir/one" "$dir/another.csv" --out "$dir/other-name.png" -q
differ "$dir/both.png" "$dir/other-name.png" 'the name should be in the image'
# a run that is being written: its incomplete last line is skipped
printf '1,6,1,0.5,0.' >> "$dir/other-losses.csv"
exits 0 curves "$dir/one" "$dir/other-losses.csv" --out "$dir/torn.png" -q
same "$dir/both.png" "$dir/torn.png"

# metrics of --eval-every that a run has get their own plots: here one of five
{
    printf 'epoch,step,loss_d,loss_d_real,loss_d_fake,loss_g,d_x,d_gz1,d_gz2,img_s,seconds,'
    echo 'swd,random_frechet,recall,coverage,nearest'
    awk 'BEGIN { for (i = 1; i <= 90; i++)
        printf "%d,%d,1,0.5,0.5,1,,,,100,%d,,%s,,,\n", (i + 9) / 10, i, i, i % 30 ? "" : 9 - i / 20 }'
} > "$dir/judged.csv"
exits 0 curves "$dir/judged.csv" "$dir/one" --out "$dir/judged.png"
shows '900 x 1140' info "$dir/judged.png"

refuses 2 'no-operands curves RUN...' curves
refuses 2 'curves-without-out dcgan curves RUN... --out FILE.png' curves "$dir/one"
refuses 4 "path-near $dir/none" curves "$dir/one" "$dir/none" --out "$dir/no.png"
lacks "$dir/no.png"
echo 'a,b' > "$dir/wrong.csv"
refuses 2 'curves-not-a-log wrong.csv' curves "$dir/wrong.csv" --out "$dir/no.png"
log "$dir/empty.csv" 0 0
refuses 2 'curves-no-steps empty.csv' curves "$dir/empty.csv" --out "$dir/no.png"
log "$dir/bad.csv" 3 1
echo '1,4,many,1,1,1,,,,1,1' >> "$dir/bad.csv"
refuses 2 'curves-bad-row bad.csv:5' curves "$dir/bad.csv" --out "$dir/no.png"
lacks "$dir/no.png"
refuses 2 "unexpected-operand 'h'" curves a b c d e f g h --out "$dir/no.png"
finish
