#!/bin/sh
# The awk programs of scripts/cuda-archs: memory accesses before griddepcontrol.wait in PTX, and the table of resources
# from the output of ptxas. No nvcc is needed.
. "$(dirname "$0")/kit"

# early FINDING LINE...: the finding for a kernel of these lines; an empty FINDING: none
early()
{
    finding=$1
    shift
    {
        echo '.visible .entry _Z6kernelPf('
        echo ')'
        echo '{'
        for line; do printf '\t%s;\n' "$line"; done
        echo '}'
    } > "$dir/early.ptx"
    got=$(awk -v file=F -f "$root/scripts/gpu/early-reads.awk" "$dir/early.ptx")
    ensure "for '$*' it prints '$got'" [ "$got" = "${finding:+    F: _Z6kernelPf $finding}" ]
}
wait=griddepcontrol.wait start=griddepcontrol.launch_dependents
early '' 'ld.param.u64 %rd1, [p]' 'ld.const.u32 %r1, [c]' '@%p1 bra $L' 'st.shared.v4.u32 [%r2], {%r3,%r4,%r5,%r6}' \
    'ld.global.cg.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1]' 'cp.async.cg.shared.global [%r1], [%rd1], 16, %r2' \
    'cp.async.commit_group' $wait $start 'ld.global.f32 %f1, [%rd1]' 'atom.global.add.u32 %r1, [%rd1], 1'
early '' 'st.global.f32 [%rd1], %f1' # a kernel without wait
early 'before griddepcontrol.wait: ld.global.f32' 'ld.global.f32 %f1, [%rd1]' $wait $start
early 'before griddepcontrol.wait: ld.global.nc.v4.f32' 'ld.global.nc.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1]' $wait
early 'before griddepcontrol.wait: st.global.f32' '@%p1 st.global.f32 [%rd1], %f1' $wait
early 'before griddepcontrol.wait: ld.f32' '@!%p1 ld.f32 %f1, [%rd1]' $wait # may be global
early 'before griddepcontrol.wait: red.global.add.u32 call.uni' 'red.global.add.u32 [%rd1], 1' 'call.uni f, ()' $wait
early 'lets others start before it has waited itself' $start $wait
early 'lets others start, and never waits' $start

# Two kernels, one of them for both architectures, as ptxas prints them.
printf '%s\n' '.entry _Z3onePf(' ')' '.maxntid 256, 1, 1' '.entry _Z3twov()' > "$dir/a.ptx"
log()
{
    for kernel; do
        echo "ptxas info    : Compiling entry function '${kernel%%:*}' for 'sm_90'"
        echo "ptxas info    : Used ${kernel#*:}"
    done
}
log '_Z3onePf:128 registers, used 1 barriers, 40000 bytes smem' '_Z3twov:40 registers, used 0 barriers' > "$dir/a.log"
log '_Z3onePf:64 registers, used 1 barriers, 40000 bytes smem' > "$dir/b.log"
rows() # rows ARCH LOG
{
    awk -v part=read -v file=kernels/a.cu -v arch="$1" -f "$root/scripts/gpu/kernel-table.awk" "$dir/a.ptx" "$dir/$2"
}
{ rows 90 a.log; rows 80 b.log; } | LC_ALL=C sort -k 2,2 -k 1,1 |
    awk -F '\t' -v part=print -v archs='80 90' -f "$root/scripts/gpu/kernel-table.awk" > "$dir/.out"
ran='kernel-table.awk'
prints '# kernels/a.cu'
prints '  256     64  40000    4    128  40000    2  _Z3onePf' '    -      -      -    -     40      0    -  _Z3twov'
finish
