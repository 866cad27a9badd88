# lib.sh - what the tests of contrib/minicluster share. Sourced by bash; needs top_srcdir.
# shellcheck shell=bash disable=SC2034 # the tests read them
set -u
MC=${top_srcdir:?}/contrib/minicluster
unset "${!SLURM_@}" JOBPROF_MINICLUSTER JOBPROF_MC_ID

for tool in munged slurmctld slurmd; do
    PATH=$PATH:/usr/sbin command -v $tool >/dev/null || {
        echo "1..0 # SKIP $tool is not installed"
        exit 0
    }
done

# Short: state folders below it may have 60 bytes.
WORK=$(mktemp -d /tmp/mct.XXXXXX) || exit 99
chmod 0755 "$WORK"
export TMPDIR=$WORK

# the test's own cleanup removes WORK
trap cleanup EXIT
trap 'exit 130' INT TERM

# --- TAP -------------------------------------------------------------------
n=0 failed=0
check() { # check DESCRIPTION FUNCTION: 0 passes, 77 skips with its first line, else fails
    local rc=0
    n=$((n + 1))
    "$2" >"$WORK/out" 2>&1 || rc=$?
    case $rc in
    0) echo "ok $n - $1" ;;
    77)
        echo "ok $n - $1 # SKIP $(head -n 1 "$WORK/out")"
        return ;;
    *) failed=$((failed + 1)); echo "not ok $n - $1" ;;
    esac
    sed 's/^/# /' "$WORK/out" | tail -n 30
}
fail() { echo "$*"; return 1; }
skip() { echo "$*"; return 77; }

# --- clusters --------------------------------------------------------------
on() { # on NAME COMMAND...: COMMAND with the environment of that cluster
    (
        lines=$("$MC" env --name "$1") || exit
        eval "$lines"
        shift
        exec "$@"
    )
}
id_of() { sed -n 's/^mc_id=//p' "$WORK/jobprof-mc.$UID/$1/cluster"; }
left_of() { # left_of ID: living processes with a mark of that cluster
    local pid
    grep -ls "$1" /proc/[0-9]*/mountinfo /proc/[0-9]*/environ | cut -d/ -f3 | sort -u |
        while read -r pid; do
            tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null
            echo "($pid)"
        done
}
wait_for() { # wait_for SECONDS COMMAND...: until it succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}
