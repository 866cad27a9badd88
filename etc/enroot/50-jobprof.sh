#!/bin/bash
# 50-jobprof.sh - enroot's hook for steps that jobprof profiles: mounts what
# JOBPROF_BINDS lists (SOURCE:TARGET[:ro],...), the profiler's library and the
# folder of its files. Place it into /etc/enroot/hooks.d/, executable, and set
# container_binds = [ "JOBPROF_BINDS" ] in jobprof.conf. No trouble here stops a
# container.
[ -n "${JOBPROF_BINDS-}" ] && [ -n "${ENROOT_MOUNTS-}" ] || exit 0

# What enroot creates to mount on stays in a kept root file system: an empty
# library. So a folder of our name that holds nothing becomes one in memory.
in_memory() { # in_memory FOLDER: of our name, empty, and nobody else mounts there
    local root real other
    [[ ${1##*/} == *jobprof* ]] && root=$(realpath -e -- "${ENROOT_ROOTFS-}" 2>/dev/null) &&
        real=$(realpath -m -- "$root$1") && [[ $real == "$root"/* ]] || return
    # shellcheck disable=SC2012  # only whether there is any
    [ ! -e "$real" ] || { [ -d "$real" ] && [ -r "$real" ] && [ -z "$(ls -A -- "$real")" ]; } || return
    while read -r _ other _; do
        other=$(realpath -m -- "$root$other")
        [[ $real/ != "$other"/* && $other/ != "$real"/* ]] || return
    done <"$ENROOT_MOUNTS"
}

IFS=, read -ra binds <<<"$JOBPROF_BINDS"
for bind in "${binds[@]}"; do
    IFS=: read -r source target access <<<"$bind"
    kind='file'
    [ ! -d "$source" ] || kind=dir
    if ! [ -r "$source" ] || ! [[ $source:$target =~ ^/[^[:space:]]*:/[^[:space:]]*$ ]]; then
        echo "jobprof: $source cannot be mounted into the container" >&2
        continue
    fi
    [ "$access" = ro ] || access=rw
    [ $kind = dir ] || ! in_memory "${target%/*}" ||
        printf 'tmpfs %s tmpfs x-create=dir,rw,nosuid,nodev,mode=755,size=64k,private,nofail\n' \
            "${target%/*}" >>"$ENROOT_MOUNTS"
    printf '%s %s none x-create=%s,bind,%s,nosuid,nodev,private,nofail\n' \
        "$source" "$target" "$kind" "$access" >>"$ENROOT_MOUNTS"
done
exit 0
