#!/bin/sh
# BUILD= outside build/, the number of jobs, make install and scripts/demo: in a copy of the sources with the objects of
# this build, so that little is compiled. `make check` exports CC and similar variables.
. "$(dirname "$0")/../kit"
export NVCC=''
build=$(dirname "$program")
[ "$build" -ef "$root" ] && build=$root/build
if ! command -v make > /dev/null || [ ! -e "$build/flags" ] || [ ! -e "$build/host/cli/main.o" ]; then
    skip 'it is tried where the program was built'
    finish
fi
tree=$dir/tree
mkdir -p "$tree/tests"
for f in .gitignore Makefile core host include kernels man models scripts sim; do cp -pR "$root/$f" "$tree"; done
cp -pR "$root"/tests/*.mk "$tree/tests"
cd "$tree" || exit 1
if command -v git > /dev/null; then
    { git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm a; } > "$dir/.out" 2>&1
    fact $? "no commit could be made: $(cat "$dir/.out")"
fi

# copy FOLDER: this build's objects, without its tests
copy()
{
    mkdir -p "$1"
    cp -pR "$build"/*.mk "$build/flags" "$build"/models.* "$build"/tuning.* "$build/core" "$build/host" \
        "$build/kernels" "$1"
    find "$1/kernels" "(" -name "*.cu.o" -o -name no_cuda.o ")" -exec rm -f "{}" +
}

# makes CODE ARGUMENT...: run make with the settings in $with
with=''
makes()
{
    make_code=$1
    shift
    # shellcheck disable=SC2086
    ends "$make_code" "$with make $*" env $with make "$@"
}

# Compilers that write a note when they are called, and fail.
mkdir "$dir/none"
for f in cc gcc clang c++ g++ ar nvcc ${CC:+"${CC##*/}"}; do
    printf '#!/bin/sh\necho "$0 $*" >> "%s"\nexit 1\n' "$dir/called" > "$dir/none/$f" && chmod +x "$dir/none/$f"
done

# `make install` without a program
with="PATH=$dir/none:$PATH"
makes 2 install BUILD=build DESTDIR="$dir/nothing"
with=''
stderr_has 'run make first'
lacks "$dir/nothing"

# It installs what was built: with other settings, without a compiler, and as another user, for whom git fails
copy build
makes 0 BUILD=build
version=$(./dcgan --version | head -n 1)
stamp=$(ls -l --time-style=full-iso dcgan build/version.h)
for who in 0 1; do
    to=$dir/root$who
    with="GIT_TEST_ASSUME_DIFFERENT_OWNER=$who CUDA_ARCH=75 PATH=$dir/none:$PATH"
    makes 0 install BUILD=build NVCC=nvcc CFLAGS=-O3 DESTDIR="$to" PREFIX=/usr
    with=''
    for f in bin/dcgan share/man/man1/dcgan.1 share/dcgan/models/dcgan64.cfg share/bash-completion/completions/dcgan \
        share/zsh/site-functions/_dcgan share/fish/vendor_completions.d/dcgan.fish include/dcgan.h lib/libdcgan.a \
        lib/libdcgan.so lib/pkgconfig/dcgan.pc; do
        holds "$to/usr/$f"
    done
    [ "$("$to/usr/bin/dcgan" --version | head -n 1)" = "$version" ]
    fact $? "'$("$to/usr/bin/dcgan" --version | head -n 1)' was installed, '$version' was built"
    ensure "make install built dcgan again" [ "$(ls -l --time-style=full-iso dcgan build/version.h)" = "$stamp" ]
done
ensure "make install called $(cat "$dir/called" 2> /dev/null)" [ ! -e "$dir/called" ]

# The demo, with fewer images and steps, and the command that it prints
if [ -z "$(sh scripts/build/detect --missing)" ]; then
    ends 0 scripts/demo env DCGAN_LIMIT=70 DCGAN_STEPS=30 sh scripts/demo
    prints 'Samples: samples/demo/epoch-0010.png'
    sed -n 's|.*: \(\./dcgan generate .*\)|\1|p' "$dir/.out" > "$dir/command"
    ends 0 'the command that the demo names' sh -e "$dir/command"
    holds images/seed-0063.png
    [ ! -d .git ] || ensure "the demo leaves $(git status --porcelain)" [ "$(git status --porcelain)" = '?? images/' ]
else
    skip 'scripts/deps would install something'
fi

# A build by another user has the commit in its version
if command -v git > /dev/null && ! GIT_TEST_ASSUME_DIFFERENT_OWNER=1 git describe --always > /dev/null 2>&1; then
    with='GIT_TEST_ASSUME_DIFFERENT_OWNER=1'
    makes 0 BUILD=build build/version.h
    with=''
    ensure "another user builds $(head -n 1 build/version.h), not $version" grep -qF "\"$version\"" build/version.h
else
    skip 'this git does not check the owner of the folder'
fi

# Objects in another folder; no other file is written
touch "$dir/before"
to=$dir/elsewhere
copy "$to"
chmod a-w .
makes 0 BUILD="$to"
chmod u+w .
for f in dcgan dcgan.1 dcgan.bash; do holds "$to/$f"; done
makes 0 install BUILD="$to" DESTDIR="$dir/from"
ensure "make install BUILD=$to should install $to/dcgan" cmp -s "$to/dcgan" "$dir/from/usr/local/bin/dcgan"
wrote=$(find . -newer "$dir/before" -type f ! -path './.git/*')
ensure "BUILD= elsewhere wrote $wrote" [ -z "$wrote" ]

# All cores without -j; a make within make shares the jobs of its parent
printf '#!/bin/sh\necho 3\n' > "$dir/none/nproc" && chmod +x "$dir/none/nproc"
cat > "$dir/jobs.mk" << END
include Makefile
jobs:
	@echo "outer: \$(filter -j%,\$(MAKEFLAGS))"
	@\$(MAKE) -s -f $dir/jobs.mk inner
inner:
	@echo "inner: \$(filter -j%,\$(MAKEFLAGS))"
END
jobs_of() # jobs_of WORD ARGUMENT...: -j in MAKEFLAGS of a recipe and of a make within it
{
    word=$1
    shift
    ran="make $*"
    env -u MAKELEVEL -u MFLAGS MAKEFLAGS="$flags" PATH="$dir/none:$PATH" \
        make --no-print-directory -f "$dir/jobs.mk" NO_BUILD=% jobs "$@" > "$dir/.out" 2> "$dir/.err"
    prints "outer: $word" "inner: $word"
    silent
}
flags=''
jobs_of -j3
jobs_of -j2 -j2
jobs_of -j1 -j1
flags=-j2
jobs_of -j2
finish
