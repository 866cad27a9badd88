#!/bin/sh
# write.sh PAGE - puts standard input between the page's marks (make tables).
{
    sed '/^<!-- metrics -->$/q' "$1"
    sed '1{/^$/d}'
    sed -n '/^<!-- end -->$/,$p' "$1"
} >"$1.tmp" && mv "$1.tmp" "$1"
