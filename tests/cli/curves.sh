#!/bin/sh
# dcgan curves: several runs in one picture.
. "$(dirname "$0")/kit"

log() # log FILE STEPS LOSS: as scripts/bench-numpy.py writes it, without the mean outputs of D
{
    echo 'epoch,step,loss_d,loss_d_real,loss_d_fake,loss_g,d_x,d_gz1,d_gz2,img_s,seconds' > "$1"
    awk -v n="$2" -v loss="$3" 'BEGIN { for (i = 1; i <= n; i++)
        printf "1,%d,%g,%g,%g,%g,,,,100,%g\n", i, 2 * loss, loss, loss, loss + i / n, i / 10 }' >> "$1"
}
mkdir "$dir/one"
log "$dir/one/log.csv" 300 0.7
log "$dir/other-losses.csv" 5 0.5

exits 0 curves "$dir/one/" "$dir/other-losses.csv" --out "$dir/both.png"
prints "$dir/both.png: 2 runs"
silent
exits 0 info "$dir/both.png"
prints '900 x 760'
exits 0 curves "$dir/one" --out "$dir/one.png" -q
exits 0 curves "$dir/one/log.csv" "$dir/other-losses.csv" --out "$dir/log.png" -q
if cmp -s "$dir/one.png" "$dir/both.png"; then fact 1 'a second run should change the picture'; fi
exits 0 curves "$dir/one/" "$dir/other-losses.csv" --out "$dir/again.png" -q
same "$dir/both.png" "$dir/again.png"
# the name of the run is in the legend, without what files of losses end in
cp "$dir/other-losses.csv" "$dir/other.csv"
exits 0 curves "$dir/one" "$dir/other.csv" --out "$dir/same-name.png" -q
same "$dir/both.png" "$dir/same-name.png"
cp "$dir/other-losses.csv" "$dir/another.csv"
exits 0 curves "$dir/one" "$dir/another.csv" --out "$dir/other-name.png" -q
if cmp -s "$dir/both.png" "$dir/other-name.png"; then fact 1 'the name should be in the picture'; fi
# a run that is being written: its last line is left out
printf '1,6,1,0.5,0.' >> "$dir/other-losses.csv"
exits 0 curves "$dir/one" "$dir/other-losses.csv" --out "$dir/torn.png" -q
same "$dir/both.png" "$dir/torn.png"

exits 2 curves
says 'dcgan curves RUN...; see: '
exits 2 curves "$dir/one"
says 'where to? '
says 'dcgan curves RUN... --out FILE.png'
exits 4 curves "$dir/one" "$dir/none" --out "$dir/no.png"
says "$dir/none"
lacks "$dir/no.png"
echo 'a,b' > "$dir/wrong.csv"
exits 2 curves "$dir/wrong.csv" --out "$dir/no.png"
says 'wrong.csv: its first line is not that of a log.csv of ours'
log "$dir/empty.csv" 0 0
exits 2 curves "$dir/empty.csv" --out "$dir/no.png"
says 'empty.csv: holds no steps yet'
log "$dir/bad.csv" 3 1
echo '1,4,many,1,1,1,,,,1,1' >> "$dir/bad.csv"
exits 2 curves "$dir/bad.csv" --out "$dir/no.png"
says 'bad.csv:5: is not a row of a log of ours'
lacks "$dir/no.png"
exits 2 curves a b c d e f g h --out "$dir/no.png"
says "unexpected 'h'"
finish
