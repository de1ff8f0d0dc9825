#!/bin/sh
# The documentation: every relative link leads to a file, README.md has at most 9,000 bytes, and every page in docs/ is
# reached from README.md in two clicks.
. "$(dirname "$0")/kit"
cd "$root" || exit 1
# links FILE: the files that it links to, as paths from the root
links()
{
    grep -oE '\]\([^)#: ]+[)#]' "$1" | sed 's/^](//; s/[)#]$//' | while read -r to; do
        realpath -m --relative-to=. "$(dirname "$1")/$to"
    done | sort -u
}
bytes=$(wc -c < README.md)
ensure "README.md has $bytes bytes, more than 9,000" [ "$bytes" -le 9000 ]
find . -name '*.md' -not -path './build*' -not -path './.git/*' | sed 's|^\./||' | sort > "$dir/pages"
while read -r page; do
    links "$page" | while read -r to; do [ -e "$to" ] || echo "$to"; done > "$dir/missing"
    ensure "$page links to what is not there: $(cat "$dir/missing")" [ ! -s "$dir/missing" ]
done < "$dir/pages"
links README.md | grep '\.md$' > "$dir/once"
{ cat "$dir/once"; while read -r page; do links "$page"; done < "$dir/once"; } | sort -u > "$dir/reached"
grep '^docs/' "$dir/pages" > "$dir/docs"
ensure "pages are found: $(cat "$dir/docs")" [ "$(wc -l < "$dir/docs")" -gt 15 ]
comm -23 "$dir/docs" "$dir/reached" > "$dir/missing"
ensure "not reached from README.md in two clicks: $(cat "$dir/missing")" [ ! -s "$dir/missing" ]
finish
