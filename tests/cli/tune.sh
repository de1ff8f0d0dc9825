#!/bin/sh
# dcgan tune without a GPU: what it says, and merging.
. "$(dirname "$0")/kit"

exits 2 tune dcgan32 --device cpu
says 'dcgan tune is for CUDA devices (--device cuda)'
export CUDA_VISIBLE_DEVICES=
exits 5 tune dcgan32 --device cuda --out "$dir/a.tune"
says '--device cuda'
lacks "$dir/a.tune"
exits 2 tune dcgan32 dcgan64
says 'one model at a time'
exits 2 tune --seconds -1
exits 2 tune no-such-model

printf '; one\n[sm_90]\ngan_loss n=64 : direct block=64 ; 3.00 us\nnoise n=64 : direct ; 1.00 us\n' > "$dir/a.tune"
printf '; two\n[sm_90]\ngan_loss n=64 : direct block=96 ; 2.00 us\n' > "$dir/b.tune"
exits 0 tune --merge "$dir/a.tune" "$dir/b.tune"
silent
printf '; one\n; two\n[sm_90]\ngan_loss n=64 : direct block=96 ; 2.00 us\nnoise n=64 : direct ; 1.00 us\n' > "$dir/want"
same "$dir/want" "$dir/.out"
exits 0 tune --merge "$dir/a.tune" "$dir/b.tune" --out "$dir/c.tune"
{ echo '; dcgan tune --merge' && cat "$dir/want"; } > "$dir/marked"
same "$dir/marked" "$dir/c.tune"
exits 0 tune --merge "$dir/c.tune" "$dir/b.tune" --out "$dir/f.tune"
[ "$(grep -c merge "$dir/f.tune")" -eq 1 ]
fact $? 'the mark should be there once'
exits 0 tune --merge "$dir/a.tune" "$dir/b.tune" --out "$dir/f.tune"
exits 2 tune --merge "$dir/c.tune" "$dir/b.tune" --out "$dir/c.tune"
says "$dir/c.tune: exists and is read by this command; choose another --out or add --force"
exits 2 tune --merge "$dir/c.tune" "$dir/b.tune" --out "$dir/a.tune"
says "$dir/a.tune: exists and was not made by dcgan"
exits 0 plan dcgan32 --arch sm_90 --batch 64 --tuning "$dir/c.tune"
silent
prints "$dir/c.tune:5"
exits 2 tune --merge "$dir/a.tune"
says 'which files?'
exits 4 tune --merge "$dir/a.tune" "$dir/none.tune"
says none.tune
printf 'gan_loss n=64 : unheard-of\n' > "$dir/d.tune"
exits 2 tune --merge "$dir/a.tune" "$dir/d.tune" --out "$dir/e.tune"
says "$dir/d.tune:1: "
lacks "$dir/e.tune"
finish
