#!/bin/sh
# The installed library: the header in C and C++, pkg-config, exported symbols, the sample programs.
# shellcheck disable=SC2086 # options are words
. "$(dirname "$0")/kit"
build=$(dirname "$program")
[ "$build" -ef "$root" ] && build=build
if [ ! -e "$build/libdcgan.a" ] || ! command -v make > /dev/null; then
    skip 'it is tried where the library was built'
    finish
fi
if grep -q fsanitize "$build/dcgan.pc.in"; then
    skip 'programs without sanitizers cannot be linked with a library that has them'
    finish
fi
to=$dir/usr
ends 0 'make install' make -s install BUILD="$build" PREFIX="$to" DESTDIR= || finish
export PKG_CONFIG_PATH="$to/lib/pkgconfig" LD_LIBRARY_PATH="$to/lib"
cflags="-I$to/include" libs="-L$to/lib -ldcgan" static=$(sed -n 's/^Libs.private: //p' "$to/lib/pkgconfig/dcgan.pc")
if command -v pkg-config > /dev/null; then
    [ "$(pkg-config --cflags dcgan | tr -d ' ')" = "$cflags" ] && [ "$(pkg-config --modversion dcgan)" = \
        "$("$program" --version | sed -n '1s/^dcgan \([^ ]*\).*/\1/p')" ]
    fact $? "pkg-config says $(pkg-config --cflags --modversion dcgan 2>&1)"
    cflags=$(pkg-config --cflags dcgan) libs=$(pkg-config --libs dcgan)
else
    skip 'pkg-config is not here'
fi

# builds COMPILER ARGUMENT...: without a warning
builds() { ends 0 "$*" "$@" && silent; }
warnings='-Wall -Wextra -Wpedantic -Werror'
{
    builds "${CC:-cc}" -std=c11 $warnings $cflags -o "$dir/shared" "$root/samples/make_images.c" $libs
    builds "${CC:-cc}" -std=c11 $warnings $cflags -o "$dir/static" "$root/samples/make_images.c" \
        "$to/lib/libdcgan.a" $static
}
if command -v "${CXX:-c++}" > /dev/null; then
    builds "${CXX:-c++}" -std=c++11 $warnings $cflags -o "$dir/version" "$root/samples/version.cpp" $libs
    ensure "the library says it is $("$dir/version")" [ "$("$dir/version")" = "$("$program" --version | head -n 1)" ]
else
    skip 'there is no C++ compiler'
fi

# exported symbols are those that the header declares
sed -n 's/^DCGAN_API.*[ *]\(dcgan_[a-z_]*\)(.*/\1/p' "$to/include/dcgan.h" | sort > "$dir/declared"
ensure "the header declares $(wc -l < "$dir/declared") functions" [ "$(wc -l < "$dir/declared")" -gt 10 ]
for f in "-D $to/lib/libdcgan.so" "$to/lib/libdcgan.a"; do
    nm -g --defined-only $f | awk 'NF == 3 { print $3 }' | sort > "$dir/seen"
    cmp -s "$dir/declared" "$dir/seen"
    fact $? "$f shows other names than the header: $(diff "$dir/declared" "$dir/seen" | head -n 5)"
done
bad=' (_?exit|abort|puts|putchar|perror|(__)?v?f?printf(_chk)?|stdout|stderr)(@|$)'
imports=$(nm -D --undefined-only "$to/lib/libdcgan.so" | grep -E "$bad")
ensure "the library ends the process or prints: $imports" [ -z "$imports" ]

# the sample program makes the images of dcgan generate
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 8 --size 16
exits 0 --data cats --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 -q --no-curves --out run
exits 0 generate run --seeds 0-4 --out its
for p in shared static; do
    mkdir "$p-made"
    builds "./$p" run/checkpoint.safetensors 5 "$p-made"
    for i in 0 1 2 3 4; do
        same_pixels "its/seed-000$i.png" "$p-made/000$i.png"
    done
done
# from Python
if [ -n "$python" ]; then
    export LIBDCGAN="$to/lib/libdcgan.so.0"
    mkdir python-made
    ends 0 sample.py "$python" "$root/samples/sample.py" run/checkpoint.safetensors 5 python-made
    for i in 0 1 2 3 4; do
        ensure "image $i of sample.py is not that of make_images" cmp -s "shared-made/000$i.png" "python-made/000$i.png"
    done
    ! "$python" "$root/samples/sample.py" nothing 1 python-made > .out 2> .err
    fact $? 'sample.py of a checkpoint that is not there should fail'
    stderr_has 'nothing: '
else
    skip 'python3 is not here'
fi
ends 4 'make_images of nothing' ./shared nothing 1 shared-made
says cannot-open './shared: ' 'nothing: '

cd "$root" || exit 1
ends 0 'make uninstall' make -s uninstall BUILD="$build" PREFIX="$to" DESTDIR=
left=$(find "$to" ! -type d)
ensure "make uninstall leaves $left" [ -z "$left" ]
finish
