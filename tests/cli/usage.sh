#!/bin/sh
# Help, version, completions, and errors of the command line.
. "$(dirname "$0")/kit"

exits 2
stderr_has 'dcgan --data cats/ --epochs 300' 'dcgan generate'
ensure 'the help of a bare "dcgan" is short' [ "$(wc -l < "$dir/.err")" -le 8 ]

shows '--no-graph' generate --help-all
shows '--no-graph' help generate --help-all
exits 0 --help-all
prints 'convs:' 'gradients of a network with Adam' # values of --fuse
cp "$dir/.out" "$dir/help-all"
exits 0 --help
prints '--help-all' 'Usage: dcgan [train] --data DIR' '--epochs N' 'default dcgan64-paper'
silent
ensure '--help has more than 46 lines' [ "$(wc -l < "$dir/.out")" -le 46 ]
ensure '--help has lines of more than 80 columns' [ "$(awk 'length > 80' "$dir/.out" | wc -l)" -eq 0 ]
cp "$dir/.out" "$dir/help"
# the exit codes are the same in --help-all, the manual, docs/reference.md, err.h and stop.c
row='s/^  \([0-9][0-9, ]*[0-9]\)$/\1/p; s/^  \([0-9]\)  .*/\1/p'
sed -n '/^Exit codes:/,/^E.*var/ p' "$dir/help-all" | sed -n "$row" > "$dir/codes"
codes() # codes WHERE: standard input has a code or several per line
{
    diff "$dir/codes" - > "$dir/differ"
    fact $? "$1 has other exit codes than --help-all: $(cat "$dir/differ")"
}
sed -n '/^## Exit codes/,/^## E/ s/^- `\([0-9][0-9, ]*\)`:.*/\1/p' "$root/docs/reference.md" | codes docs/reference.md
"$program" --help-man | sed -n '/^.SH EXIT CODES/,/^.SH E/ s/^\\fB\([0-9][0-9, ]*\)\\fR$/\1/p' | codes 'the manual'
tr -d ' ' < "$dir/codes" | tr , '\n' | sort -n > "$dir/each" && mv "$dir/each" "$dir/codes"
{
    sed -n 's/^    DG_[A-Z]* = \([0-9]*\).*/\1/p' "$root/core/base/err.h"
    for n in $(seq 31); do
        if grep -q "caught.*SIG$(kill -l "$n" 2> /dev/null)[,}]" "$root/host/run/stop.c"; then echo $((128 + n)); fi
    done
} | sort -n | diff "$dir/codes" - > "$dir/differ"
fact $? "--help-all has other exit codes than err.h and stop.c: $(cat "$dir/differ")"
exits 0 -h
same "$dir/help" "$dir/.out"
exits 0 help
same "$dir/help" "$dir/.out"

# the help of a command has its own options only
for c in train generate interpolate find classify eval data plan batch replay check bench profile tune info export \
    import report doctor; do
    shows 'Examples:' help $c
    cp "$dir/.out" "$dir/help"
    exits 0 $c --help
    same "$dir/help" "$dir/.out"
    grep -q "^  $c " "$dir/.out" || exits 0 --help
    ensure "--help should list $c" grep -qE "^  $c( |\$)" "$dir/.out"
done
exits 0 help generate
if grep -q -e --epochs "$dir/.out"; then fact 1 'generate has no --epochs'; fi
for c in eval import; do
    exits 0 help $c
    if grep -q 'default dcgan64-paper' "$dir/.out"; then fact 1 "help $c: its model is what the weights say"; fi
done
refuses 2 'unknown-command nothing' help nothing

exits 0 --version
prints 'dcgan 0' 'libpng'
version=$(sed -n '1s/^dcgan \([0-9.]*\).*/\1/p' "$dir/.out")
entry=$(sed -n 's/^## //p' "$root/CHANGELOG.md" | head -n 1)
case $entry in "$version, "*) ;; *) fact 1 "CHANGELOG.md begins with '$entry', the program is $version" ;; esac
exits 0 -V

exits 2 --epocs 3
says option-near --epocs --epochs
refuses 2 "command-near 'train'" trian
refuses 2 'unknown-command dcgan --data DIR' cats
refuses 2 'curves-is-report dcgan report RUN... --out' curves run --out c.png
exits 2 --data x --epochs 0
says option-value '--epochs 0' '1 to 1000000'
exits 2 --data x --batch many
says option-value '--batch many' '1 to 65536'
for o in lr lr-d lr-g eps beta1 beta2; do
    exits 2 --data "$dir" --$o 1e-60
    says zero-in-fp32 "--$o 1e-60" 1.2e-38
    exits 3 --dry-run --data "$dir" --$o 1.2e-38
    exits 3 --dry-run --data "$dir" --$o 1e-60 --precision fp64
done
for o in beta1 beta2 rho momentum smoothing; do
    exits 2 --data "$dir" --$o 0.99999999
    says one-in-fp32 "--$o 0.99999999" 0.99999994
    case $o in momentum) set -- --optimizer sgd ;; *) set -- ;; esac
    exits 3 --dry-run --data "$dir" --$o 0.99999994 "$@"
    exits 3 --dry-run --data "$dir" --$o 0
done
refuses 2 'zero-in-fp32 --decay 1e-60' --data "$dir" --optimizer sgd --decay 1e-60
refuses 2 no-images-given --epochs 3
refuses 2 bad-fuse plan dcgan32 --fuse nothing
refuses 2 preview-without-augment data --synthesize "$dir/new" --augment color --aug-preview "$dir/seen.png"
exits 2 data "$dir" --augment nothing --aug-preview "$dir/seen.png"
refuses 2 'value-missing --data DIR' --data
mkdir "$dir/cats"
refuses 2 "folder-as-command --data $dir/cats" "$dir/cats"
exits 4 --data x --config "$dir"
refuses 4 'cannot-open none.ini' --data x --config "$dir/none.ini"
printf '[run]\nepochs = 3\nbatsh = 4\n' > "$dir/c.ini"
exits 2 --data x --config "$dir/c.ini"
says unknown-key-near c.ini:3: "'batsh'" "'batch'"
DCGAN_BATCH=none refuses 2 'option-value DCGAN_BATCH=none' plan
DCGAN_ISA=none refuses 2 'unknown-isa DCGAN_ISA' plan

# common mistakes: a folder twice, options of other trainers, variables, paths
mkdir "$dir/dogs"
exits 2 --data "$dir/cats" --test "$dir/cats" --test "$dir/dogs"
says given-twice --test "$dir/cats"
exits 2 data "$dir/cats" --data "$dir/dogs"
exits 2 plan dcgan32 --model dcgan64
refuses 2 'option-absent latent = N' --data x --nz 100
refuses 2 'option-near --size' --data x --img-size 64
refuses 2 'option-near --lr-d' --data x --lr_d 1
DCGAN_EPOHCS=3 exits 3 --data "$dir/cats"
says unknown-variable DCGAN_EPOHCS DCGAN_EPOCHS
refuses 3 "path-near $dir/cats?" data "$dir/cat"
for p in "$dir/cats " "'$dir/cats'" "file://$dir/cats" "$(printf %s "$dir/cats" | tr / '\134')"; do
    refuses 3 "path-corrected $dir/cats?" data "$p"
done
HOME=$dir refuses 3 "path-corrected $dir/cats?" "--data=~/cats"
refuses 3 "path-pattern $dir/cats" data "$dir/cats/*.png"
refuses 3 path-address data http://a.b/cats
refuses 3 "no-images-in $dir/cats" data "$dir/cats//"
exits 4 --data "$dir/cats" --out=s3://a/b
lacks s3:
exits 0 data --synthesize "$dir/two" --classes 2 --count 24 --size 32 -q
shows 'cnn-cifar-2classes' --data "$dir/two" --model cnn-cifar --batch 8 --dry-run

# manual and completions
shows '.SH OPTIONS' --help-man
exits 2 --completion-csh
for shell in bash zsh fish; do
    exits 0 --completion-$shell
    cp "$dir/.out" "$dir/completion.$shell"
done

# offers SHELL WORD LINE: WORD is a completion of the last word of LINE; lacks_offer: it is not
offered()
{
    case $1 in
    fish) fish -c 'source $argv[1]; complete -C "$argv[2]"' "$dir/completion.fish" "$2" | cut -f 1 ;;
    bash) bash -c '. "$1"; COMP_LINE=$2; read -ra COMP_WORDS <<< "$2"; [[ $2 == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _dcgan; printf "%s\n" "${COMPREPLY[@]}"' - "$dir/completion.bash" "$2" ;;
    esac 2>&1
}
offers()
{
    offered "$1" "$3" | grep -qxF -e "$2"
    fact $? "$1 should offer '$2' for '$3', not '$(offered "$1" "$3" | head -c 200)'"
}
lacks_offer() { ! offered "$1" "$3" | grep -qxF -e "$2"; fact $? "$1 should not offer '$2' for '$3'"; }
for shell in bash fish; do
    command -v $shell > /dev/null || { skip "$shell is not here"; continue; }
    offers $shell generate 'dcgan ge'
    offers $shell export 'dcgan help ex'
    offers $shell cnn-mnist 'dcgan profile cnn-'
    offers $shell dcgan128 'dcgan --data cats/ --model dcgan1'
    offers $shell crop 'dcgan --data cats/ --fit '
    lacks_offer $shell crop 'dcgan plan dcgan64 --fit '
    offers $shell rtx4090 'dcgan profile --predict rtx'
    offers $shell --beta1 'dcgan --be'
    lacks_offer $shell --beta1 'dcgan generate --be'
    offers $shell --write-z 'dcgan generate --wr'
done
if command -v zsh > /dev/null; then
    ensure 'the completion for zsh should be a zsh script' zsh -n "$dir/completion.zsh"
else
    skip 'zsh is not here'
fi

# an error of writing the results
if [ -w /dev/full ]; then
    "$program" --help > /dev/full 2> "$dir/.err"
    ensure 'a full disk under --help should exit 4' [ $? -eq 4 ]
    ran='dcgan --help > /dev/full'
    stderr_has 'No space left on device'
fi
# closed descriptors do not end up as files
"$program" plan dcgan32 > "$dir/plan" 2>&- <&-
fact $? 'stdin and stderr closed'
finish
