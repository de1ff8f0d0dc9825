#!/bin/sh
# The keys of messages (DG_MSG in core/base/err.h): each is in the sources once and in a command line test, and the
# tests name no other key.
. "$(dirname "$0")/kit"
cd "$root" || exit 1
find core host kernels -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | grep -v core/base/err.h | xargs cat |
    tr '\n' ' ' | grep -o 'DG_MSG( *"[^"]*"' | sed 's/.*"\(.*\)"/\1/' | sort > "$dir/sources"
used='(says|notes|refuses [0-9]+|never_says|answers [0-9]+ [^ ]+)'
grep -rhoE "$used ['\"]?[a-z0-9]+(-[a-z0-9]+)+" tests/cli | sed "s/.*[ '\"]//" | sort -u > "$dir/tests"

none() # none WORDS LINES
{
    ensure "$1: $(echo "$2" | tr '\n' ' ')" [ -z "$2" ]
}
[ "$(wc -l < "$dir/sources")" -gt 100 ] && [ "$(wc -l < "$dir/tests")" -gt 100 ]
fact $? "few keys were found: $(wc -l "$dir/sources" "$dir/tests")"
none 'a key is two or more words of a-z and 0-9 with - between' \
    "$(grep -vxE '[a-z0-9]+(-[a-z0-9]+)+' "$dir/sources")"
none 'keys that are in the sources twice' "$(uniq -d "$dir/sources")"
none 'keys that no test names' "$(grep -rhowF -f "$dir/sources" tests/cli | sort -u | comm -23 "$dir/sources" -)"
none 'keys of tests that no source has' "$(comm -13 "$dir/sources" "$dir/tests")"
finish
