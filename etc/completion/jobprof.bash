# jobprof.bash - bash completes jobprof's commands and options. What it offers
# is read from "jobprof --help" and "jobprof COMMAND --help", so it fits the
# installed release.
_jobprof_words() { # _jobprof_words PROGRAM [COMMAND]: commands, or options
    if [ $# -eq 1 ]; then
        "$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  *.*/\1/p'
        printf '%s\n' --help --version
    else
        "$1" "$2" --help 2>/dev/null | grep -oE '(^|[ ,[|])--[a-z][a-z-]*' | tr -d ' ,[|'
    fi
}

_jobprof() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]-} words=''

    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words=$(_jobprof_words "$program")
    elif [[ $cur == -* ]]; then
        words=$(_jobprof_words "$program" "$command")
    elif [ "$prev" = --fail-on ]; then
        words='UNJUDGED INCOMPLETE DEGRADED SLOW FAILED HANG'
    elif [ "$COMP_CWORD" -eq 2 ]; then
        # "show, check": a command's own words stand behind its name in the usage
        words=$("$program" "$command" --help 2>/dev/null |
            sed -nE "s/^[Uu]sage: *jobprof $command ([a-z|]+)( .*)?\$/\\1/p" | tr '|' '\n')
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur" | sort -u)
    # job folders and other files
    [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}
complete -o filenames -F _jobprof jobprof
