#!/bin/sh
# Builds in two folders give the same bytes: an object of each rule of the Makefile, compiled without ccache, has no
# name of its folder, and the commands that make the archive, the library and the program are the same.
# shellcheck disable=SC2086 # options and files are words
. "$(dirname "$0")/../kit"
needs make
unset MAKEFLAGS MFLAGS MAKELEVEL
build="build-twice"
long=another-with-a-longer-name/below
objects="core/base/err kernels/ops/act/op kernels/ops/act/act.base.f32 host/cli/main models tuning page
    core/tune/counts_csv core/base/build_info"
files=$(for f in $objects; do echo "$build/$f.o"; done)
mkdir -p "$dir/a/tests" "$dir/$long"
for f in Makefile core host include kernels man models scripts sim; do cp -R "$root/$f" "$dir/a"; done
cp "$root"/tests/*.mk "$dir/a/tests"
cp -R "$dir/a/." "$dir/$long"
set -- BUILD=$build NVCC= CCACHE= SAN= WERROR= ISAS=base CFLAGS='-O0 -g' KFLAGS=-O0
for folder in a "$long"; do
    cd "$dir/$folder" || exit 1
    ends 0 "make in $folder" make -j2 "$@" $files || finish
    for f in $files; do
        ! grep -aq "$dir" "$f"
        fact $? "$f names the folder where it was built"
        same "$dir/a/$f" "$f"
    done
    # without the lines that say what make does, in the order of the recipes
    make -j1 -n V=1 "$@" $build/dcgan $build/libdcgan.a $build/libdcgan.so.0 2>&1 |
        grep -E ' (rcs|-r|-shared) | -o [^ ]*/dcgan ' > "$dir/links"
    ensure "four commands link: $(cut -c 1-80 "$dir/links")" [ "$(wc -l < "$dir/links")" -ge 4 ]
    [ -e "$dir/links-a" ] || cp "$dir/links" "$dir/links-a"
    same "$dir/links" "$dir/links-a"
done
finish
