#!/bin/bash
# 50-jobprof.sh - enroot's hook for steps that jobprof profiles: mounts what
# JOBPROF_BINDS lists (SOURCE:TARGET[:ro],...), the profiler's library and the
# folder of its files. Place it into /etc/enroot/hooks.d/, executable, and set
# container_binds = [ "JOBPROF_BINDS" ] in jobprof.conf. No trouble here stops a
# container.
[ -n "${JOBPROF_BINDS-}" ] && [ -n "${ENROOT_MOUNTS-}" ] || exit 0
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
    printf '%s %s none x-create=%s,bind,%s,nosuid,nodev,private,nofail\n' \
        "$source" "$target" "$kind" "$access" >>"$ENROOT_MOUNTS"
done
exit 0
