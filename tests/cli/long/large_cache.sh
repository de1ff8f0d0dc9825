#!/bin/sh
# Many images of 128 x 128 pixels with 4 GB of memory: the first step within 10 s of opening a cache. The cache is a
# sparse file of black images, and the images are empty files. The argument is their number, 100,000 (4.9 GB) by default
# and 1,000,000 in the soak.
. "$(dirname "$0")/../kit"
maker=$(cd "${OBJECTS:-build}" && pwd)/tests/test_large_cache
needs "$maker"
images=${1:-100000}
cd "$dir" || exit 1
ensure 'a sparse cache' "$maker" images cache "$images" 128
began=$(date +%s.%N)
ends 0 'a cache that is larger than memory' sh -c 'ulimit -v 4000000; exec "$0" "$@"' "$program" --data images \
    --cache cache --size 128 --batch 16 --steps 3 --out run --grid 2x2 --no-report
says note-images "$images" cached
says note-images-in-cache
says note-windows
took=$(date +%s.%N | awk -v began="$began" -v steps="$(tail -n 1 run/log.csv | sed 's/.*,//')" \
    '{ print $1 - began - steps }')
echo "$took" | awk '{ exit !($1 < 10) }'
fact $? "$images images: $took s without the steps"
finish
