#!/bin/sh
# docs/reference.md has the commands, options, exit codes and variables that the program prints.
. "$(dirname "$0")/kit"

exits 0 --help-md
sed '1,/^<!-- begin/d; /^<!-- end/,$d' "$root/docs/reference.md" | cmp -s - "$dir/.out"
fact $? 'docs/reference.md differs from dcgan --help-md; make reference renews it'
lines=$(wc -l < "$dir/.out")
ensure "the generated part of docs/reference.md has $lines lines" [ "$lines" -gt 150 ]
# each link into the page has a heading
grep -rhoE "reference\.md#[a-z-]+" "$root"/*.md "$root"/docs | sed "s/.*#//" | sort -u > "$dir/names"
while read -r name; do
    grep -qix "##* $(echo "$name" | tr - ' ')" "$root/docs/reference.md"
    fact $? "docs/reference.md has no heading for #$name"
done < "$dir/names"
finish
