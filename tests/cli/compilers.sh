#!/bin/sh
# Compilers: one message if the compiler is older than the tested ones, and one thread without OpenMP.
# scripts/build/compilers builds everything with the oldest ones.
# shellcheck disable=SC2086 # options are words
. "$(dirname "$0")/kit"
cc=${CC:-cc}

# finds COMPILER: what scripts/build/detect prints for it
finds() { ends 0 "detect with $1" env CC="$1" sh "$root/scripts/build/detect"; }
if ! command -v make > /dev/null || ! echo 'int main(void) { return 0; }' | $cc -x c -o "$dir/none" - 2> /dev/null; then
    skip "no compiler or no make"
    finish
fi
if echo | $cc -dM -E - | grep -q __clang__; then
    finds "$cc -U__clang_major__ -D__clang_major__=9"
    stderr_has 'clang 9 is older than the tested compilers (gcc 11, clang 13)'
else
    finds "$cc -U__GNUC__ -D__GNUC__=9"
    stderr_has 'gcc 9 is older than the tested compilers (gcc 11, clang 13)'
fi
ensure "'$ran' should say one sentence; it said: $(cat "$dir/.err")" [ "$(wc -l < "$dir/.err")" -eq 1 ]
prints 'FOUND := '

# docs/install.md states the oldest compilers that are tested
eval "$(grep '^oldest_gcc=' "$root/scripts/build/detect")"
# shellcheck disable=SC2154 # set by the line of scripts/build/detect
grep -q "gcc $oldest_gcc, clang $oldest_clang or a newer compiler" "$root/docs/install.md"
fact $? "docs/install.md should name gcc $oldest_gcc and clang $oldest_clang as the oldest"

# a compiler without -fopenmp: no symbol of OpenMP is used
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
ends 0 'make without OpenMP' make CC="$dir/plain-cc" CFLAGS=-O0 WERROR=1 NVCC= SAN= BUILD="$dir/b" $objects
asked=$(nm -u $objects 2>&1 | grep -E 'omp_|GOMP|No such')
ensure "without OpenMP there is: $asked" [ -z "$asked" ]
finish
