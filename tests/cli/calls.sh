#!/bin/sh
# scripts/calls in a small tree: it passes, and each use against the order is printed with its symbol and both places.
. "$(dirname "$0")/kit"
needs nm cc
tree=$dir/tree
mkdir -p "$tree/scripts" "$tree/core/base" "$tree/core/plan" "$tree/host/image" "$tree/kernels/ops/act" \
    "$tree/kernels/cuda"
cp "$root/scripts/calls" "$root/scripts/order" "$tree/scripts"
cd "$tree" || exit 1
echo 'int dg_err(void) { return 1; }' > core/base/err.c
echo 'int dg_err(void), dg_plan_size = 3; int dg_plan(void) { return dg_err(); }' > core/plan/plan.c
printf '#include "name.h"\n/* dg_plan */\nint NAME(void) { return dg_plan(); }\n' > kernels/ops/act/act.c
echo '#define NAME2(isa) dg_act_##isa
#define NAME1(isa) NAME2(isa)
#define NAME NAME1(ISA)
int dg_plan(void);' > kernels/ops/act/name.h
cat > kernels/cuda/backend_cuda.cu << 'END'
int dg_act_base(void), dg_act_avx2(void);
int dg_gpu(int) __asm__("_Z6dg_gpui"); // as C++ names it
int dg_gpu(int n) { return n + dg_act_base() + dg_act_avx2(); }
END
echo 'int dg_gpu(int) __asm__("_Z6dg_gpui"); int dg_image(void) { return dg_gpu(1); }' > host/image/image.c
echo 'int dg_image(void); int dg_png(void) { return dg_image(); }' > host/image/png.c

objects() # compile every file as make does
{
    rm -rf build
    find core host -name '*.c' | while read -r f; do
        mkdir -p "build/${f%/*}"
        cc -c -o "build/${f%.c}.o" "$f"
    done
    mkdir -p build/kernels/ops/act build/kernels/cuda
    for i in base avx2; do cc "-DISA=$i" -c -o build/kernels/ops/act/act.$i.f32.o kernels/ops/act/act.c; done
    cc -x c -Wno-pedantic -c -o build/kernels/cuda/backend_cuda.cu.o kernels/cuda/backend_cuda.cu
}
judged() { ends "$1" scripts/calls sh -c 'sh scripts/calls build 2>&1'; } # judged CODE
planted() # planted FILE TEXT WORDS...: with TEXT appended to the file, WORDS are printed; then the file is restored
{
    changed=$1
    cp "$changed" "$dir/saved"
    echo "$2" >> "$changed"
    shift 2
    objects
    judged 1
    for words; do prints "$words"; done
    cp "$dir/saved" "$changed"
}

objects
judged 0
prints '3 passed, 0 failed'

planted host/image/image.c 'int dg_png(void), dg_more(void); int dg_more(void) { return dg_png(); }' \
    'no circle of files' 'host/image/image.c:2 uses dg_png of host/image/png.c:1' \
    'host/image/png.c:1 uses dg_image of host/image/image.c:1' '2 passed, 1 failed'
# Two circles with a common file: both are printed.
echo 'int dg_plan(void); int dg_fuse(void) { return dg_plan(); }' > core/plan/fuse.c
echo 'int dg_plan(void); int dg_arena(void) { return dg_plan(); }' > core/plan/arena.c
planted core/plan/plan.c 'int dg_fuse(void), dg_arena(void), dg_more(void);
int dg_more(void) { return dg_fuse() + dg_arena(); }' \
    'core/plan/fuse.c:1 uses dg_plan' 'core/plan/arena.c:1 uses dg_plan'
rm core/plan/fuse.c core/plan/arena.c
planted core/base/err.c 'extern int dg_plan_size; int dg_more(void) { return dg_plan_size; }' \
    'no circle of files' 'no use against scripts/order' 'core/base/err.c:2 uses dg_plan_size of core/plan/plan.c:1'
planted core/base/err.c 'int dg_act_avx2(void); int dg_more(void) { return dg_act_avx2(); }' \
    'no use against scripts/order' \
    'core/base/err.c:2 uses dg_act_avx2 of kernels/ops/act/act.c' \
    'kernels/ops/act/act.c:3 uses dg_plan of core/plan/plan.c:1' 'core/plan/plan.c:1 uses dg_err of core/base/err.c:1'
planted core/plan/plan.c 'int dg_gpu(int) __asm__("_Z6dg_gpui"); int dg_more(void) { return dg_gpu(0); }' \
    'core/plan/plan.c:2 uses _Z6dg_gpui of kernels/cuda/backend_cuda.cu:2'
planted kernels/cuda/backend_cuda.cu 'int dg_png(void); int dg_more(void) { return dg_png(); }' \
    'kernels/cuda/backend_cuda.cu:4 uses dg_png of host/image/png.c:1' 'no circle of files' \
    'no use against scripts/order'
# Passing a function pointer is not a use of the receiving file.
objects
echo 'int dg_each(int f(void)) { return f(); }' >> core/base/err.c
echo 'int dg_each(int f(void)), dg_all(void); int dg_all(void) { return dg_each(dg_plan); }' >> core/plan/plan.c
objects
judged 0
# Without objects of the .cu files the other files are checked.
rm build/kernels/cuda/backend_cuda.cu.o
judged 0
prints '3 passed, 0 failed, 1 skipped'
# A file without an object.
mkdir -p kernels/new && echo 'int dg_new(void);' > kernels/new/new.c
judged 1
prints 'run make' 'kernels/new/new.c'
rm -r kernels/new
# A room that has no place in the order; it could be used from anywhere.
mkdir host/new && echo 'int dg_new(void); int dg_new(void) { return 1; }' > host/new/new.c
objects
judged 1
prints 'every room is in scripts/order' 'host/new/new.c'
finish
