#!/bin/sh
# Run by OSS-Fuzz in the root of the sources: the targets, their corpora, dictionaries and libraries go to OUT. OSS-Fuzz
# sets CC, CFLAGS, LIB_FUZZING_ENGINE and OUT; its image has the packages of scripts/deps, and zip.
set -eu
# Kernels for one instruction set are enough: they do not read untrusted bytes.
make -j"$(nproc)" BUILD=build-oss-fuzz NVCC= ISAS=base CC="$CC" CFLAGS="$CFLAGS" FUZZER="$LIB_FUZZING_ENGINE" \
    LDFLAGS="$CFLAGS -Wl,-rpath,'\$\$ORIGIN/lib'" fuzzers
mkdir -p "$OUT/lib"
for source in tests/fuzz/fuzz_*.c; do
    target=${source##*/} target=${target%.c} name=${target#fuzz_}
    cp "build-oss-fuzz/tests/$target" "$OUT/"
    sh scripts/fuzz/dictionary "$name" > "$OUT/$target.dict"
    [ -s "$OUT/$target.dict" ] || rm "$OUT/$target.dict"
    for inputs in tests/fuzz/corpus tests/fuzz/found; do
        [ ! -d "$inputs/$name" ] || zip -q -j -r "$OUT/${target}_seed_corpus.zip" "$inputs/$name"
    done
    names='omp|png|jpeg|z|inih|cjson|gif|webp|tiff|deflate|jbig|Lerc|zip|bz2|lzma|zstd|crypto|sharpyuv'
    ldd "build-oss-fuzz/tests/$target" | awk "/lib($names)[-.0-9]*[.]so/ { print \$3 }" |
        sort -u | xargs -r cp -t "$OUT/lib"
done
