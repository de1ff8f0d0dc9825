#!/bin/sh
# A new user's path: the three commands of README's "Quick start", then those of docs/tutorial.md in their order, with
# fewer images and epochs. Without the package dataset-fashion-mnist, drawn images replace it.
. "$(dirname "$0")/../kit"
installed=/usr/share/datasets/fashion-mnist set=$installed
export DCGAN_LIMIT=900 DCGAN_EPOCHS=1
cd "$dir" || exit 1
mkdir bin && ln -s "$program" bin/dcgan && PATH=$dir/bin:$PATH
if [ ! -e "$installed/train-images-idx3-ubyte.gz" ]; then
    echo "dataset-fashion-mnist is not installed: synthetic images replace it"
    set=$dir/drawn
    exits 0 data --synthesize "$set" --classes 10 --count 1000 --size 28 -q
fi
exits 0 data --synthesize my-images --classes 2 --count 6 --size 40 -q

# "Quick start", with fewer images and epochs
sed -n '/^## Quick start$/,/^## Features$/p' "$root/README.md" | grep '^\./dcgan ' |
    sed 's|^\./||; s/--count 1000/--count 70/; s/--epochs 100/--epochs 2/; s/-n 64/-n 4/' > commands
[ "$(grep -cE -e '--count 70|--epochs 2|-n 4' commands)" -eq 3 ]
fact $? "README's \"Quick start\" should have three commands: $(cat commands)"
while read -r command; do
    ends 0 "$command" env -u DCGAN_LIMIT -u DCGAN_EPOCHS sh -c "$command"
done < commands
holds samples/cats-dcgan-32x3/report.html images/seed-0003.png
prints 'images/grid.png'

sed -n 's/^   \(dcgan .*\)/\1/p' "$root/docs/tutorial.md" | sed "s|$installed|$set|g" > commands
ensure "docs/tutorial.md should have six commands: $(cat commands)" [ "$(wc -l < commands)" -eq 6 ]
while read -r command; do
    ends 0 "$command" sh -c "$command" || continue
    case $command in
        'dcgan data '*) prints 'classes: 10'; holds fashion.png ;;
        *cnn-mnist*) stderr_has 'epoch 1/1'; holds runs/eyes/checkpoint.safetensors ;;
        *classify*) [ "$(grep -c '^my-images/' .out)" -eq 6 ]; fact $? "six images: $(cat .out)"; holds seen.png ;;
        *dcgan28*) holds runs/gan/checkpoint.safetensors ;;
        *generate*) holds made/seed-0063.png ;;
        *eval*)
            ensure "ten classes: $(cat .out)" [ "$(grep -cE '^[^ ].*%.*%.*%' .out)" -eq 10 ]
            prints 'Frechet distance' && prints 'two-sample accuracy' ;;
        *) fact 1 "a command that this test does not know: $command" ;;
    esac
done < commands
finish
