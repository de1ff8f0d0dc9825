# The table of scripts/cuda-archs. Of each file, c++filt in between:
#     awk -v part=read -v file=F -v arch=80 -f scripts/gpu/kernel-table.awk F.ptx F.log | c++filt -p
# prints kernel, file, architecture, threads, registers, static shared memory; of all files, sorted by file and name,
#     awk -v part=print -v archs='80 90' -f scripts/gpu/kernel-table.awk
# a heading per file and a line per kernel. sm_90a counts as 90.
function least(a, b) { return a < b ? a : b }
# Blocks per multiprocessor: 65,536 registers in four parts, allocated to warps by 256; 64 warps, 32 blocks; each
# block's shared memory plus 1 KB.
function blocks(arch, threads, registers, shared,    warps) {
    if (threads == "-") return "-"
    warps = int((threads + 31) / 32)
    registers = int((registers * 32 + 255) / 256) * 256
    return least(least(32, int(64 / warps)), least(int(int(16384 / registers) * 4 / warps),
        int((arch == 80 ? 164 : 228) * 1024 / (shared + 1024))))
}
part == "read" && FNR == NR && /\.entry / { entry = $0; sub(/.*\.entry /, "", entry); sub(/\(.*/, "", entry) }
part == "read" && FNR == NR && /^\.maxntid/ { gsub(/,/, ""); threads[entry] = $2 * $3 * $4 }
part == "read" && FNR != NR && /Compiling entry function/ { split($0, quoted, "\047"); entry = quoted[2] }
part == "read" && FNR != NR && /Used [0-9]+ registers/ {
    registers = $0; sub(/.*Used /, "", registers)
    shared = / bytes smem/ ? $0 : 0; sub(/ bytes smem.*/, "", shared); sub(/.* /, "", shared)
    print entry "\t" file "\t" arch "\t" (entry in threads ? threads[entry] : "-") "\t" registers + 0 "\t" shared + 0
}
function flush(    i, n, a) {
    if (kernel == "") return
    row = sprintf("%5s", its_threads)
    n = split(archs, a, " ")
    for (i = 1; i <= n; i++) row = row (a[i] in numbers ? numbers[a[i]] : sprintf(" %6s %6s %4s", "-", "-", "-"))
    print row "  " kernel
    split("", numbers)
}
part == "print" && $2 != last_file { flush(); kernel = ""; print "# " $2; last_file = $2 }
part == "print" && $1 != kernel { flush(); kernel = $1; its_threads = $4 }
part == "print" { sub(/a$/, "", $3); numbers[$3] = sprintf(" %6s %6s %4s", $5, $6, blocks($3, $4, $5, $6)) }
END { if (part == "print") flush() }
