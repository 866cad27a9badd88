#!/bin/sh
# split.sh - makes a man page for each command from jobprof.1, which is written as
# one: its part of the synopsis, its examples, its section. jobprof(1) itself
# becomes the map. A command with a page of its own here has that one.
#     split.sh SRCDIR OUTDIR
set -eu
man=$1/docs/man out=$2
mkdir -p "$out"
rm -f "$out"/*.1

# the commands with their summaries are the program's own table; a feature's
# command has its summary in the feature's folder
table=$(sed -nE '/^ +COMMAND\("[a-z]+", cmd_[a-z]+,$/ { N; s/\n +/ /; }
    s/^ +COMMAND\("([a-z]+)", cmd_[a-z]+, "(.*)"\),$/\1	\2/p
    s/^ +&command_([a-z]+),$/\1	/p' "$1/orchestrator/cmd/jobprof.c" |
    while IFS='	' read -r command summary; do
        [ -n "$summary" ] || summary=$(sed -n 's/^    \.summary = "\(.*\)",$/\1/p' \
            "$1"/orchestrator/*/"${command}_command.c")
        [ -n "$summary" ] || { echo "split.sh: no summary of $command" >&2; exit 1; }
        printf '%s\t%s\n' "$command" "$summary"
    done)

section() { # section HEADING: its lines, without the heading
    awk -v want=".Sh $1" '/^\.Sh / { on = $0 == want; next } on' "$man/jobprof.1"
}
examples() { # examples COMMAND: those whose line calls it; "": all
    section EXAMPLES | awk -v want="$1" '/^\.Pp$/ { next }
        !/^\.Dl / { text = $0; next }
        want == "" || index($0, ".Dl jobprof " want " ") == 1 {
            print (n++ ? ".Pp\n" : "") text "\n" $0
        }'
}
synopsis() { # synopsis COMMAND: its options
    section SYNOPSIS | awk -v want=".Cm $1" '/^\.Nm/ { on = 0; getline; on = $0 == want; next } on'
}
body() { # body COMMAND: its section; the program is "jobprof" there, too
    awk -v want=".Ss $1" '/^\.S[hs] / { on = $0 == want; next } on' "$man/jobprof.1" |
        sed -e 's/^\.Nm$/.Nm jobprof/' -e 's/^\.Nm \([^jA-Z]\)/.Nm jobprof \1/' \
            -e 's/\<Nm \(Cm\|Fl\|Ar\)\>/Nm jobprof \1/' -e 's/^\.Nm \(Cm\|Fl\|Ar\)\>/.Nm jobprof \1/'
}
date=$(sed -n 's/^\.Dd //p' "$man/jobprof.1")

echo "$table" | while IFS='	' read -r command summary; do
    [ ! -e "$man/jobprof-$command.1" ] || { cp "$man/jobprof-$command.1" "$out/"; continue; }
    [ -n "$(body "$command")" ] || { echo "split.sh: jobprof.1 has no section $command" >&2; exit 1; }
    {
        printf '.Dd %s\n.Dt JOBPROF-%s 1\n.Os\n.Sh NAME\n.Nm jobprof-%s\n.Nd %s\n.Sh SYNOPSIS\n.Nm jobprof %s\n' \
            "$date" "$(echo "$command" | tr '[:lower:]' '[:upper:]')" "$command" "$summary" "$command"
        synopsis "$command"
        echo .Sh DESCRIPTION
        [ -z "$(examples "$command")" ] || { echo .Ss Examples; examples "$command"; echo .Ss Use; }
        body "$command"
        # what the page has beyond the command's section
        [ ! -e "$man/jobprof-$command.more" ] || grep -v '^\.\\"' "$man/jobprof-$command.more"
        echo .Sh EXIT STATUS
        section 'EXIT STATUS'
        printf '.Sh SEE ALSO\n.Xr jobprof 1 ,\n.Xr jobprof.conf 5\n'
    } >"$out/jobprof-$command.1"
done

{
    printf '.Dd %s\n.Dt JOBPROF 1\n.Os\n.Sh NAME\n' "$date"
    section NAME
    printf '.Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar options ...\n.Sh DESCRIPTION\n.Ss Examples\n'
    examples ''
    echo .Ss Use
    awk '/^\.Sh / { on = $0 == ".Sh DESCRIPTION"; next } /^\.Ss / { on = 0 } on' "$man/jobprof.1"
    printf '.Ss Commands\nEach has a page of its own:\n.Bl -tag -width jobprof-aggregate\n'
    echo "$table" | sed -E 's/^([a-z]+)	(.*)/.It Xr jobprof-\1 1\n\2/'
    echo .El
    for heading in VERDICTS ENVIRONMENT FILES 'EXIT STATUS' 'SEE ALSO'; do
        echo ".Sh $heading"
        section "$heading"
    done
} >"$out/jobprof.1"
