#!/bin/sh
# scripts/paper-tables on a few digits that are noise: it trains what is missing, once, and its table has the row.
. "$(dirname "$0")/kit"
command -v python3 > /dev/null || { skip 'python3 is not here'; finish; }
export DCGAN="$program" MNIST="$dir/digits" PYTHONDONTWRITEBYTECODE=1
papers()
{
    ran="paper-tables $*"
    "$root/scripts/paper-tables" "$@" --folder "$dir/papers" --out "$dir/table.md" > "$dir/.out" 2> "$dir/.err"
}
mkdir "$dir/digits"
python3 - "$dir/digits" << 'END'
import random, struct, sys
for part, count in ('train', 40), ('t10k', 24):
    with open(f'{sys.argv[1]}/{part}-images-idx3-ubyte', 'wb') as file:
        file.write(struct.pack('>iiii', 2051, count, 28, 28) + random.Random(1).randbytes(784 * count))
    with open(f'{sys.argv[1]}/{part}-labels-idx1-ubyte', 'wb') as file:
        file.write(struct.pack('>ii', 2049, count) + bytes(i % 10 for i in range(count)))
END
papers run table --short --only mnist
fact $? "paper-tables failed: $(tail -n 3 "$dir/.err")"
says 'mnist, seed 1, 5 epochs'
holds "$dir/papers/mnist-1-short/result.json"
accuracy=$(awk -F, 'NR > 1 && $6 != "" { last = $6 } END { printf "%.2f", 100 * last }' \
    "$dir/papers/mnist-1-short/run/log.csv")
grep -qF "(\`cnn-mnist\`), batch 8, 5 epochs | 98.03 | $accuracy | 1 | 5 |" "$dir/table.md"
fact $? "the table should have $accuracy: $(cat "$dir/table.md")"
papers run --short --only mnist
fact $? 'again'
silent
CIFAR='' papers run table --short
says 'cifar: left out, $CIFAR names no folder'
grep -q '^Not run yet: .*16 channels;' "$dir/table.md"
fact $? "the table should name what it lacks: $(cat "$dir/table.md")"
papers run --only nothing
[ $? -eq 2 ]
fact $? 'a name that is none should exit 2'
says 'there are mnist, cifar,'
finish
