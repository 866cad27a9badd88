# shellcheck shell=bash disable=SC2034  # own_real is for the caller
# Whose a folder is. A cluster's state lies in folders with known names, often in /tmp,
# where anybody may have made them first. So nothing is read, written or removed there
# unless the folder is the caller's and nobody else can change it, or the way to it.
#
# Each part of a path is looked at from / on, links as links. Of a part whose folder
# only root and the caller can change, nobody else can take the place afterwards: what
# was found stays true, and the path without links can be used for as long as needed.

own_user() {
    # own_user UID: "bob (uid 1002)"
    local name
    name=$(getent passwd "$1" | cut -d: -f1) || name=''
    printf '%s (uid %s)' "${name:-somebody}" "$1"
}

own_refuse() {
    # own_refuse REASON: the one line for a folder that is not safe to use
    mc_die "$1: use another folder (--dir DIR, or TMPDIR)"
}

own_way() {
    # own_way PATH: sets own_real to PATH without links. Fails where a part is absent;
    # ends where somebody other than root and the caller could change what PATH is.
    local rest=$1 part next uid hex mode links=0
    case $rest in /*) ;; *) rest=$(pwd -P)/$rest ;; esac
    own_real=''
    while [ -n "$rest" ]; do
        part=${rest%%/*}
        rest=${rest:${#part}+1}
        case $part in
        .) continue ;;
        ..)
            own_real=${own_real%/*}
            continue ;;
        '')
            # the root folder itself is looked at, and a doubled / is nothing
            [ -z "$own_real" ] || continue
            next=/ ;;
        *) next=$own_real/$part ;;
        esac
        read -r uid hex < <(stat -c '%u %f' -- "$next" 2>/dev/null) || return 1
        mode=$((16#$hex))
        [ "$uid" = 0 ] || [ "$uid" = "$EUID" ] ||
            own_refuse "$next belongs to $(own_user "$uid")"
        case $((mode & 0170000)) in
        $((0120000)))
            links=$((links + 1))
            [ $links -le 40 ] || own_refuse "$1: too many links"
            part=$(readlink -- "$next") || return 1
            rest=$part/$rest
            case $part in /*) own_real='' ;; esac ;;
        $((0040000)))
            [ $((mode & 022)) = 0 ] || [ $((mode & 01000)) != 0 ] ||
                own_refuse "others can write to $next (mode $(printf %o $((mode & 07777))))"
            [ "$next" = / ] || own_real=$next ;;
        *) own_refuse "$next is no folder" ;;
        esac
    done
    own_real=${own_real:-/}
}

own_folder() {
    # own_folder DIR: sets own_real to DIR without links. Fails where DIR is absent;
    # ends unless it is a folder of the caller's which nobody else can change.
    local dir=$1 uid mode
    while [ "$dir" != "${dir%/}" ]; do dir=${dir%/}; done
    own_way "$dir" || return 1
    # a link with a known name may have been made to lead to another folder of ours
    [ ! -L "$dir" ] || own_refuse "$dir is a link of $(own_user "$(stat -c %u -- "$dir")")"
    read -r uid mode < <(stat -c '%u %a' -- "$own_real") || return 1
    [ "$uid" = "$EUID" ] || own_refuse "$own_real belongs to $(own_user "$uid")"
    [ $((8#$mode & 022)) = 0 ] || own_refuse "others can write to $own_real (mode $mode)"
}

own_make() {
    # own_make DIR: makes DIR, and the folders above it that are absent; own_folder
    local dir=$1 parent
    ! own_folder "$dir" || return 0
    while [ "$dir" != "${dir%/}" ]; do dir=${dir%/}; done
    parent=$(dirname -- "$dir")
    own_way "$parent" || own_make "$parent"
    # where somebody else is quicker, the look at it tells
    mkdir -m "$MC_MODE" -- "$own_real/${dir##*/}" 2>/dev/null || :
    own_folder "$dir" || mc_die "$dir: cannot make it"
}

# Root's folders are passed through by the users of the cluster.
MC_MODE=0700
[ "$EUID" -ne 0 ] || MC_MODE=0755
