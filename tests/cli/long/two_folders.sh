#!/bin/sh
# Builds in two folders give the same bytes of the program and the library. They are built from scratch, without ccache,
# optimization and other instruction sets, because these take long and add no file names.
# shellcheck disable=SC2086 # options are words
. "$(dirname "$0")/../kit"
if ! command -v make > /dev/null || ! command -v sha256sum > /dev/null || [ ! -e "$root/Makefile" ]; then
    skip 'no make, no sha256sum or no sources'
    finish
fi
unset MAKEFLAGS MFLAGS MAKELEVEL
build='build-twice'
files="$build/dcgan $build/libdcgan.a $build/libdcgan.so.0"
long='another-with-a-longer-name/below'
mkdir -p "$dir/a/tests" "$dir/$long"
for f in Makefile core host include kernels man models scripts sim; do cp -R "$root/$f" "$dir/a"; done
cp "$root"/tests/*.mk "$dir/a/tests"
cp -R "$dir/a/." "$dir/$long"
for folder in a "$long"; do
    (cd "$dir/$folder" &&
        make -j2 BUILD=$build NVCC= CCACHE= SAN= WERROR= ISAS=base CFLAGS='-O0 -g' KFLAGS=-O0 $files) \
        > "$dir/log" 2>&1 < /dev/null
    fact $? "in $folder it does not build: $(tail -n 5 "$dir/log")" || finish
    (cd "$dir/$folder" && sha256sum $files) > "$dir/sums-$(basename "$folder")"
    grep -aq "$dir" "$dir/$folder/$build/dcgan"
    fact $((! $?)) "the program names the folder where it was built"
done
ensure "two folders, two programs: $(cat "$dir/sums-a" "$dir/sums-below")" cmp -s "$dir/sums-a" "$dir/sums-below"
finish
