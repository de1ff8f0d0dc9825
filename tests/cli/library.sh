#!/bin/sh
# The library as it is installed: the header in C and in C++, pkg-config, what can be seen of it, the sample program.
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
ran='make install'
make -s install BUILD="$build" PREFIX="$to" DESTDIR= > "$dir/.out" 2> "$dir/.err" < /dev/null
fact $? "make install failed: $(tail -n 3 "$dir/.err")" || finish
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
builds()
{
    ran=$*
    "$@" > "$dir/.out" 2> "$dir/.err"
    fact $? "'$ran' failed: $(head -c 600 "$dir/.err")"
    silent
}
warnings='-Wall -Wextra -Wpedantic -Werror'
# shellcheck disable=SC2086 # words
{
    builds "${CC:-cc}" -std=c11 $warnings $cflags -o "$dir/shared" "$root/samples/make_images.c" $libs
    builds "${CC:-cc}" -std=c11 $warnings $cflags -o "$dir/static" "$root/samples/make_images.c" \
        "$to/lib/libdcgan.a" $static
}
if command -v "${CXX:-c++}" > /dev/null; then
    # shellcheck disable=SC2086
    builds "${CXX:-c++}" -std=c++11 $warnings $cflags -o "$dir/version" "$root/samples/version.cpp" $libs
    [ "$("$dir/version")" = "$("$program" --version | head -n 1)" ]
    fact $? "the library says it is $("$dir/version")"
else
    skip 'there is no C++ compiler'
fi

# nothing but what the header declares
sed -n 's/^DCGAN_API.*[ *]\(dcgan_[a-z_]*\)(.*/\1/p' "$to/include/dcgan.h" | sort > "$dir/declared"
[ "$(wc -l < "$dir/declared")" -gt 10 ]
fact $? "the header declares $(wc -l < "$dir/declared") functions"
for f in "-D $to/lib/libdcgan.so" "$to/lib/libdcgan.a"; do
    # shellcheck disable=SC2086
    nm -g --defined-only $f | awk 'NF == 3 { print $3 }' | sort > "$dir/seen"
    cmp -s "$dir/declared" "$dir/seen"
    fact $? "$f shows other names than the header: $(diff "$dir/declared" "$dir/seen" | head -n 5)"
done
bad=' (_?exit|abort|puts|putchar|perror|(__)?v?f?printf(_chk)?|stdout|stderr)(@|$)'
imports=$(nm -D --undefined-only "$to/lib/libdcgan.so" | grep -E "$bad")
[ -z "$imports" ]
fact $? "the library ends the process or prints: $imports"

# the sample: pictures of a checkpoint, those that the program makes of it
pixels() { tail -c "+$(grep -abo IDAT "$1" | head -n 1 | cut -d : -f 1)" "$1"; } # of a PNG: what is behind its texts
cd "$dir" || exit 1
exits 0 data --synthesize cats --count 8 --size 16
exits 0 --data cats --model "$root/tests/tiny.cfg" --batch 4 --epochs 1 -q --no-curves --out run
exits 0 generate run --seeds 0-4 --out its
for p in shared static; do
    mkdir "$p-made"
    ran="$p 5 $p-made"
    "./$p" run/checkpoint.safetensors 5 "$p-made" > .out 2> .err
    fact $? "make_images ($p) failed: $(cat .err)"
    silent
    for i in 0 1 2 3 4; do
        pixels "its/seed-000$i.png" > a
        pixels "$p-made/000$i.png" > b
        [ -s a ] && cmp -s a b
        fact $? "picture $i of make_images ($p) is not that of dcgan generate"
    done
done
# the same from Python
python=${PYTHON:-python3}
if command -v "$python" > /dev/null; then
    export LIBDCGAN="$to/lib/libdcgan.so.0"
    mkdir python-made
    ran='sample.py run/checkpoint.safetensors 5 python-made'
    "$python" "$root/samples/sample.py" run/checkpoint.safetensors 5 python-made > .out 2> .err
    fact $? "sample.py failed: $(tail -n 1 .err)"
    for i in 0 1 2 3 4; do
        cmp -s "shared-made/000$i.png" "python-made/000$i.png"
        fact $? "picture $i of sample.py is not that of make_images"
    done
    ! "$python" "$root/samples/sample.py" nothing 1 python-made > .out 2> .err
    fact $? 'sample.py of a checkpoint that is not there should fail'
    says 'nothing: '
else
    skip 'python3 is not here'
fi
ran='make_images of nothing'
./shared nothing 1 shared-made > .out 2> .err
[ $? -eq 4 ]
fact $? 'a checkpoint that is not there should be code 4'
says './shared: nothing: '

cd "$root" || exit 1
ran='make uninstall'
make -s uninstall BUILD="$build" PREFIX="$to" DESTDIR= > "$dir/.out" 2> "$dir/.err" < /dev/null
left=$(find "$to" ! -type d)
[ -z "$left" ]
fact $? "make uninstall leaves $left"
finish
