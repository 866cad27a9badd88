#!/bin/sh
# embed.sh - text files as C strings, for programs that need no file beside them.
#
# embed.sh OUT HEADER NAME=FILE...   NAME= makes an empty string.
set -eu
out=$1 header=$2
shift 2
{
    echo "/* made by embed.sh from the files in orchestrator/report/web */"
    echo "#include \"$header\""
    for pair; do
        file=${pair#*=}
        # "" first: an empty file is an empty string; ? could make trigraphs
        printf '\nconst char %s[] = ""\n' "${pair%%=*}"
        [ -z "$file" ] || sed 's/[\\"?]/\\&/g; s/^/"/; s/$/\\n"/' "$file"
        echo ';'
    done
} >"$out.new"
mv "$out.new" "$out"
