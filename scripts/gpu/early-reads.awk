# awk -f scripts/gpu/early-reads.awk FILE.ptx: memory accesses before the wait in kernels that wait for the previous
# launch (griddepcontrol.wait), except those that cannot conflict with that launch: parameters, constants, shared and
# local memory, loads past L1 and copies to shared memory (grid_early_load, cp_async16_early). A kernel may release the
# next launch only after its wait. Follows the order of the text: jumps from after the wait to before it are not
# detected.
function complain(what) { print "    " file ": " kernel " " what }
/^[^\/]*\.entry / {
    kernel = $0
    sub(/.*\.entry /, "", kernel)
    sub(/\(.*/, "", kernel)
    waits = starts = 0
    early = ""
}
/^}/ {
    if (starts && !waits) complain("lets others start, and never waits")
    kernel = ""
}
kernel == "" { next }
{ sub(/^[ \t{]*(@!?%?[a-z0-9_]+[ \t]+)?/, "") }
/^griddepcontrol\.wait/ {
    if (!waits && early) complain("before griddepcontrol.wait:" early)
    if (!waits && starts) complain("lets others start before it has waited itself")
    waits = 1
}
/^griddepcontrol\.launch_dependents/ { starts = 1 }
!waits && /^(ld|ldu|st|atom|red|cp|call|prefetch|prefetchu|tex|tld4|suld|sust|sured|multimem)[.]/ {
    if (/^(ld|st)\.(param|local)|^ld\.const|^(ld|st|atom|red)\.shared|^ld\.global\.cg\./) next
    if (/^cp\.async\.(cg\.shared\.global\.|cg\.shared\.global |commit_group|wait_group)/) next
    early = early " " $1
}
