# awk -f scripts/gpu/early-reads.awk FILE.ptx: what kernels that wait for the launch in front of them
# (griddepcontrol.wait) do to memory before they wait, but for what cannot meet that launch: parameters, constants,
# shared and local memory, loads past L1 and copies to shared memory (grid_early_load, cp_async16_early). A kernel may
# let others start only behind its wait. In the order of the text: what stands behind the wait and jumps in front of
# it is not seen.
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
