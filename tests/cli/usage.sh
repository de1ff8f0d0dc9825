#!/bin/sh
# What the program says about itself, and what it refuses before it starts.
. "$(dirname "$0")/kit"

exits 2
says 'dcgan --data cats/ --epochs 300'
says 'dcgan generate'
[ "$(wc -l < "$dir/.err")" -le 8 ]
fact $? 'the help of a bare "dcgan" is short'

exits 0 generate --help-all
prints '--no-graph '
exits 0 help generate --help-all
prints '--no-graph '
exits 0 --help-all
prints '      convs   '  # what --fuse may name
prints 'all weight gradients of a network and Adam'
exits 0 --help
prints '--help-all            with the finer points, too: --tuning, --fuse'
prints 'Usage: dcgan [train] --data DIR'
prints '--epochs N'
prints 'default dcgan64-paper'
prints 'Exit codes:'
silent
[ "$(awk 'length > 80' "$dir/.out" | wc -l)" -eq 0 ]
fact $? '--help has lines of more than 80 columns'
cp "$dir/.out" "$dir/help"
# the table of exit codes: in the help, the manual, docs/reference.md and err.h; signals as the program catches them
row='s/^ *\([0-9][0-9, ]*[0-9]\)  .*/\1/p; s/^ *\([0-9]\)  .*/\1/p'
sed -n '/^Exit codes:/,$ p' "$dir/help" | sed -n "$row" > "$dir/codes"
codes() # codes WHERE, a code or several in a line of standard input
{
    diff "$dir/codes" - > "$dir/differ"
    fact $? "$1 has other exit codes than --help: $(cat "$dir/differ")"
}
sed -n '/^## Exit codes/,/^## O/ s/^| \([0-9][0-9, ]*\) |.*/\1/p' "$root/docs/reference.md" | codes docs/reference.md
"$program" --help-man | sed -n '/^.SH EXIT STATUS/,/^.SH [^E]/ s/^[0-9][0-9, ]*$/&/p' | codes 'the manual'
tr -d ' ' < "$dir/codes" | tr , '\n' | sort -n > "$dir/each" && mv "$dir/each" "$dir/codes"
{
    sed -n 's/^    DG_[A-Z]* = \([0-9]*\).*/\1/p' "$root/core/base/err.h"
    for n in $(seq 31); do
        if grep -q "caught.*SIG$(kill -l "$n" 2> /dev/null)[,}]" "$root/host/run/stop.c"; then echo $((128 + n)); fi
    done
} | sort -n | codes 'err.h with stop.c'
exits 0 -h
same "$dir/help" "$dir/.out"
exits 0 help
same "$dir/help" "$dir/.out"

# every command tells its own options, and only those
for c in train generate interpolate classify eval data plan batch replay check bench profile tune info export import \
    curves doctor; do
    exits 0 help $c
    prints 'Examples:'
    cp "$dir/.out" "$dir/help"
    exits 0 $c --help
    same "$dir/help" "$dir/.out"
    grep -q "^  $c " "$dir/.out" || exits 0 --help
    grep -qE "^  $c( |\$)" "$dir/.out"
    fact $? "--help should list $c"
done
exits 0 help generate
if grep -q -e --epochs "$dir/.out"; then fact 1 'generate has no --epochs'; fi
for c in eval import; do
    exits 0 help $c
    if grep -q 'default dcgan64-paper' "$dir/.out"; then fact 1 "help $c: its model is what the weights say"; fi
done
exits 2 help nothing
says "unknown command 'nothing'"

exits 0 --version
prints 'dcgan 0'
prints 'libpng'
version=$(sed -n '1s/^dcgan \([0-9.]*\).*/\1/p' "$dir/.out")
entry=$(sed -n 's/^## //p' "$root/CHANGELOG.md" | head -n 1)
case $entry in "$version, "*) ;; *) fact 1 "CHANGELOG.md begins with '$entry', the program is $version" ;; esac
exits 0 -V

exits 2 --epocs 3
says 'unknown option --epocs; did you mean --epochs?'
exits 2 trian
says "did you mean 'train'?"
exits 2 cats
says 'to train on a folder: '
says 'dcgan --data DIR; all commands: '
exits 2 --data x --epochs 0
says '--epochs 0: out of range; allowed: 1 to 1000000'
exits 2 --data x --batch many
says '--batch many: not a whole number'
for o in lr lr-d lr-g eps beta1 beta2; do
    exits 2 --data "$dir" --$o 1e-60
    says "--$o 1e-60: would be 0 in fp32; the smallest value is 1.2e-38"
    exits 3 --dry-run --data "$dir" --$o 1.2e-38
    exits 3 --dry-run --data "$dir" --$o 1e-60 --precision fp64
done
for o in beta1 beta2 rho momentum smoothing; do
    exits 2 --data "$dir" --$o 0.99999999
    says "--$o 0.99999999: would be 1 in fp32; the largest value is 0.99999994"
    case $o in momentum) set -- --optimizer sgd ;; *) set -- ;; esac
    exits 3 --dry-run --data "$dir" --$o 0.99999994 "$@"
    exits 3 --dry-run --data "$dir" --$o 0
done
exits 2 --data "$dir" --optimizer sgd --decay 1e-60
says "--decay 1e-60: would be 0 in fp32"
exits 2 --epochs 3
says 'no pictures given'
exits 2 --data
says '--data needs a value: --data DIR'
mkdir "$dir/cats"
exits 2 "$dir/cats"
says "dcgan --data $dir/cats"
exits 4 --data x --config "$dir"
exits 4 --data x --config "$dir/none.ini"
says 'none.ini'
printf '[run]\nepochs = 3\nbatsh = 4\n' > "$dir/c.ini"
exits 2 --data x --config "$dir/c.ini"
says 'c.ini:3: unknown key '"'batsh'; did you mean 'batch'?"
DCGAN_BATCH=none exits 2 plan
says 'DCGAN_BATCH=none: not a whole number'
DCGAN_ISA=none exits 2 plan
says 'DCGAN_ISA'

# what people type: one folder twice, names of other trainers, variables, paths
mkdir "$dir/dogs"
exits 2 --data "$dir/cats" --data "$dir/dogs"
says "--data is already $dir/cats"
exits 2 data "$dir/cats" --data "$dir/dogs"
exits 2 plan dcgan32 --model dcgan64
exits 2 --data x --nz 100
says 'latent = N in a model file'
exits 2 --data x --img-size 64
says 'did you mean --size?'
exits 2 --data x --lr_d 1
says 'did you mean --lr-d?'
DCGAN_EPOHCS=3 exits 3 --data "$dir/cats"
says 'DCGAN_EPOHCS is ignored: no option has this name; did you mean DCGAN_EPOCHS?'
for p in "$dir/cat" "$dir/cats " "'$dir/cats'" "file://$dir/cats" "$(printf %s "$dir/cats" | tr / '\134')"; do
    exits 3 data "$p"
    says "did you mean $dir/cats?"
done
HOME=$dir exits 3 "--data=~/cats"
says "did you mean $dir/cats?"
exits 3 data "$dir/cats/*.png"
says "give the folder: $dir/cats"
exits 3 data http://a.b/cats
says 'download it first'
exits 3 data "$dir/cats//"
says "$dir/cats: no picture"
exits 4 --data "$dir/cats" --out=s3://a/b
lacks s3:
exits 0 data --synthesize "$dir/two" --classes 2 --count 24 --size 32 -q
exits 0 --data "$dir/two" --model cnn-cifar --batch 8 --dry-run
prints 'cnn-cifar-2classes'

# what the build takes from the program
exits 0 --help-man
prints '.SH OPTIONS'
exits 2 --completion-csh
for shell in bash zsh fish; do
    exits 0 --completion-$shell
    cp "$dir/.out" "$dir/completion.$shell"
done

# offers SHELL WORD LINE: what it offers for the unfinished last word of this line has the word; lacks_offer: has not
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
    zsh -n "$dir/completion.zsh"
    fact $? 'the completion for zsh is no zsh script'
else
    skip 'zsh is not here'
fi

# an error in writing the results is one
if [ -w /dev/full ]; then
    "$program" --help > /dev/full 2> "$dir/.err"
    [ $? -eq 4 ]
    fact $? 'a full disk under --help should exit 4'
    ran='dcgan --help > /dev/full'
    says 'standard output: No space left on device'
fi
# closed descriptors do not end up as files
"$program" plan dcgan32 > "$dir/plan" 2>&- <&-
fact $? 'stdin and stderr closed'
finish
