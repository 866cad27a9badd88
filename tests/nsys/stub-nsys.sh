#!/bin/sh
# stub-nsys.sh - stands in for nsys: records its arguments in $STUB_LOG.PROCID
# and runs the program. Its exit status is never the program's.
# STUB_NSYS: fail: ends before the program; usr1: is killed by the program's signal;
# hang: never ends; STUB_FIXTURE: a file that becomes the export.
case ${1:-} in
--version)
    echo 'NVIDIA Nsight Systems version 2024.6.2.225-246235244400v0'
    exit 0
    ;;
export)
    for word; do
        case $word in --output=*) out=${word#--output=} ;; esac
    done
    # a report has a clean environment
    : "${STUB_FIXTURE:=${0%/*}/fixture.sqlite}"
    echo "$*" >>"${0%/*}/export.log"
    [ "${STUB_NSYS-}" != hang-export ] || exec sleep 600
    [ "${STUB_NSYS-}" != fail-export ] || { echo 'cannot import' >&2; exit 1; }
    cp "$STUB_FIXTURE" "$out"
    exit
    ;;
esac
log=${STUB_LOG:?}.${SLURM_PROCID:-x}
{
    printf 'arg %s\n' "$@"
    env | grep -E '^(TMPDIR|JOBPROF_|CUDA_)' | sort
    [ -d "${TMPDIR-}" ] && echo "there" || echo "not there"
} >>"$log"
shift
while :; do
    case $1 in
    --output=*) out=${1#--output=} && shift ;;
    -*) shift ;;
    *) break ;;
    esac
done
case ${STUB_NSYS-} in
fail) exit 3 ;;
orphan) (sleep 0.3; kill -KILL $$) & ;;
esac
"$@"
echo report >"$out.nsys-rep"
[ -z "${STUB_FIXTURE-}" ] || [ "${STUB_NSYS-}" = no-export ] || cp "$STUB_FIXTURE" "$out.sqlite"
[ "${STUB_NSYS-}" != hang ] || { trap '' TERM; while :; do sleep 1; done; }
exit 99
