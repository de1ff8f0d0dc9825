#!/bin/sh
# dcgan tune without a GPU: messages, and merging.
. "$(dirname "$0")/kit"

refuses 2 tune-needs-gpu tune dcgan32 --device cpu
export CUDA_VISIBLE_DEVICES=
exits 5 tune dcgan32 --device cuda --out "$dir/a.tune"
stderr_has '--device cuda'
lacks "$dir/a.tune"
refuses 2 one-model tune dcgan32 dcgan64
exits 2 tune --seconds -1
exits 2 tune no-such-model

printf '; one\n[sm_90]\ngan_loss n=64 : direct block=64 ; 3.00 us\nnoise n=64 : direct ; 1.00 us\n' > "$dir/a.tune"
printf '; two\n[sm_90]\ngan_loss n=64 : direct block=96 ; 2.00 us\n' > "$dir/b.tune"
quietly tune --merge "$dir/a.tune" "$dir/b.tune"
printf '; one\n; two\n[sm_90]\ngan_loss n=64 : direct block=96 ; 2.00 us\nnoise n=64 : direct ; 1.00 us\n' > "$dir/both"
same "$dir/both" "$dir/.out"
exits 0 tune --merge "$dir/a.tune" "$dir/b.tune" --out "$dir/c.tune"
{ echo '; dcgan tune --merge' && cat "$dir/both"; } > "$dir/marked"
same "$dir/marked" "$dir/c.tune"
exits 0 tune --merge "$dir/c.tune" "$dir/b.tune" --out "$dir/f.tune"
ensure 'the mark should be there once' [ "$(grep -c merge "$dir/f.tune")" -eq 1 ]
exits 0 tune --merge "$dir/a.tune" "$dir/b.tune" --out "$dir/f.tune"
exits 2 tune --merge "$dir/c.tune" "$dir/b.tune" --out "$dir/c.tune"
says output-is-input "$dir/c.tune" --out --force
refuses 2 "foreign-file $dir/a.tune" tune --merge "$dir/c.tune" "$dir/b.tune" --out "$dir/a.tune"
quietly plan dcgan32 --arch sm_90 --batch 64 --tuning "$dir/c.tune"
prints "$dir/c.tune:5"
refuses 2 merge-without-files tune --merge "$dir/a.tune"
refuses 4 'cannot-open none.tune' tune --merge "$dir/a.tune" "$dir/none.tune"
printf 'gan_loss n=64 : unheard-of\n' > "$dir/d.tune"
refuses 2 "tune-no-variant $dir/d.tune:1:" tune --merge "$dir/a.tune" "$dir/d.tune" --out "$dir/e.tune"
lacks "$dir/e.tune"
finish
