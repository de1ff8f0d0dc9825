#!/bin/sh
# A new user's path: the three commands of README's "Quick start", then those of docs/tutorial.md in their order, with
# fewer images and epochs. Without the package dataset-fashion-mnist, drawn images replace it.
. "$(dirname "$0")/../kit"
installed=/usr/share/datasets/fashion-mnist set=$installed
export DCGAN_LIMIT=3000 DCGAN_EPOCHS=3
cd "$dir" || exit 1
mkdir bin && ln -s "$program" bin/dcgan && PATH=$dir/bin:$PATH
if [ ! -e "$installed/train-images-idx3-ubyte.gz" ]; then
    echo "dataset-fashion-mnist is not installed: drawn pictures take its place"
    set=$dir/drawn
    exits 0 data --synthesize "$set" --classes 10 --count 3000 --size 28 -q
fi
exits 0 data --synthesize my-pictures --classes 2 --count 6 --size 40 -q

# "Quick start", with fewer images and epochs
sed -n '/^## Quick start$/,/^## Features$/p' "$root/README.md" | grep '^\./dcgan ' |
    sed 's|^\./||; s/--count 1000/--count 70/; s/--epochs 100/--epochs 2/; s/-n 64/-n 4/' > commands
[ "$(grep -cE -e '--count 70|--epochs 2|-n 4' commands)" -eq 3 ]
fact $? "README's \"Quick start\" should have three commands: $(cat commands)"
while read -r command; do
    ran=$command
    env -u DCGAN_LIMIT -u DCGAN_EPOCHS sh -c "$command" > .out 2> .err < /dev/null
    fact $? "README's '$command' exited $?: $(tail -n 3 .err)"
done < commands
holds samples/cats-dcgan-32x3/report.html
holds pictures/seed-0003.png
prints 'pictures/grid.png'

sed -n 's/^   \(dcgan .*\)/\1/p' "$root/docs/tutorial.md" | sed "s|$installed|$set|g" > commands
[ "$(wc -l < commands)" -eq 6 ]
fact $? "docs/tutorial.md should have six commands: $(cat commands)"
while read -r command; do
    ran=$command
    sh -c "$command" > .out 2> .err < /dev/null
    fact $? "the tutorial's '$command' exited $?: $(tail -n 3 .err)" || continue
    case $command in
        'dcgan data '*) prints 'classes: 10'; holds fashion.png ;;
        *cnn-mnist*) says 'epoch 3/3'; holds runs/eyes/checkpoint.safetensors ;;
        *classify*) [ "$(grep -c '^my-pictures/' .out)" -eq 6 ]; fact $? "six pictures: $(cat .out)"; holds seen.png ;;
        *dcgan28*) holds runs/gan/checkpoint.safetensors ;;
        *generate*) holds made/seed-0063.png ;;
        *eval*)
            [ "$(grep -cE '^[^ ].*%.*%.*%' .out)" -eq 10 ]
            fact $? "ten classes: $(cat .out)"
            prints 'Frechet distance' && prints 'told from real ones' ;;
        *) fact 1 "a command that this test does not know: $command" ;;
    esac
done < commands
finish
