#!/bin/sh
# What the build makes of the compiler: one sentence where it is older than those that were tried, and one thread where
# it has no OpenMP. scripts/build/compilers builds all of it with the oldest ones.
. "$(dirname "$0")/kit"
cc=${CC:-cc}

# finds COMPILER: what scripts/build/detect says with it
finds()
{
    ran="detect with $1"
    CC=$1 sh "$root/scripts/build/detect" > "$dir/.out" 2> "$dir/.err"
    fact $? "'$ran' failed: $(cat "$dir/.err")"
}
if ! command -v make > /dev/null || ! echo 'int main(void) { return 0; }' | $cc -x c -o "$dir/none" - 2> /dev/null; then
    skip "no compiler or no make"
    finish
fi
if echo | $cc -dM -E - | grep -q __clang__; then
    finds "$cc -U__clang_major__ -D__clang_major__=9"
    says 'clang 9 is older than dcgan is tried with (gcc 11, clang 13)'
else
    finds "$cc -U__GNUC__ -D__GNUC__=9"
    says 'gcc 9 is older than dcgan is tried with (gcc 11, clang 13)'
fi
[ "$(wc -l < "$dir/.err")" -eq 1 ]
fact $? "'$ran' should say one sentence; it said: $(cat "$dir/.err")"
prints 'FOUND := '

# docs/install.md states the oldest compilers that are tested
eval "$(grep '^oldest_gcc=' "$root/scripts/build/detect")"
# shellcheck disable=SC2154 # set by the line of scripts/build/detect
grep -q "gcc $oldest_gcc or clang $oldest_clang or newer" "$root/docs/install.md"
fact $? "docs/install.md should name gcc $oldest_gcc and clang $oldest_clang as the oldest"

# a compiler that does not know -fopenmp: nothing asks for OpenMP's library
cat > "$dir/plain-cc" << END
#!/bin/sh
case " \$* " in *' -fopenmp '*) exit 1 ;; esac
exec $cc "\$@"
END
chmod +x "$dir/plain-cc"
finds "$dir/plain-cc"
prints 'OpenMP no'
objects=''
for f in kernels/cpu/backend_cpu kernels/cpu/measure_cpu kernels/ops/conv/cpu/conv_direct.base.f32 host/data/dataset \
    host/data/dataset_rules; do
    objects="$objects $dir/b/$f.o"
done
# shellcheck disable=SC2086
make CC="$dir/plain-cc" CFLAGS=-O0 WERROR=1 NVCC= SAN= BUILD="$dir/b" $objects > "$dir/.out" 2> "$dir/.err" < /dev/null
fact $? "without OpenMP it does not compile: $(tail -n 5 "$dir/.err")"
# shellcheck disable=SC2086
asked=$(nm -u $objects 2>&1 | grep -E 'omp_|GOMP|No such')
[ -z "$asked" ]
fact $? "without OpenMP there is: $asked"
finish
