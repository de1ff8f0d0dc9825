#!/bin/sh
# A million images of 128 x 128 pixels (49 GB) with 4 GB of memory: the first step within 10 s of opening a cache. The
# cache is a sparse file of black images, and the images are empty files. LARGE_CACHE_IMAGES: another number.
. "$(dirname "$0")/../kit"
maker=$(cd "${OBJECTS:-build}" && pwd)/tests/test_large_cache
needs "$maker"
images=${LARGE_CACHE_IMAGES:-1000000}
cd "$dir" || exit 1
ensure 'a sparse cache' "$maker" images cache "$images" 128
began=$(date +%s.%N)
ends 0 'a cache of 49 GB' sh -c 'ulimit -v 4000000; exec "$0" "$@"' "$program" --data images --cache cache --size 128 \
    --batch 16 --steps 3 --out run --grid 2x2 --no-report
says note-images "$images" cached
says note-images-in-cache
says note-windows
took=$(date +%s.%N | awk -v began="$began" -v steps="$(tail -n 1 run/log.csv | sed 's/.*,//')" \
    '{ print $1 - began - steps }')
echo "$took" | awk '{ exit !($1 < 10) }'
fact $? "$images images: $took s without the steps"
finish
