#!/bin/sh
# Stands for jobprof-node and jobprof: notes how it was run in NAME.VERB.run
# beside itself, then does what the test says.
dir=${0%/*}
run=$dir/${0##*/}.$1.run
{
    for word; do printf 'arg %s\n' "$word"; done
    # the shell's own variables are not the module's
    tr '\0' '\n' </proc/$$/environ | sed 's/^/env /'
    printf 'id %s %s %s\n' "$(id -u)" "$(id -g)" "$(id -G)"
    # no child: a shell that forks has its signals blocked for a moment
    while read -r line; do
        case $line in
        # a posix_spawn above us ignores glibc's two own signals (32, 33), and
        # sigaction does not give them back
        SigIgn*)
            printf 'SigIgn:\t%016x\n' $((0x${line##*[!0-9a-f]} & ~0x180000000))
            ;;
        Uid* | Gid* | Sig* | NoNewPrivs* | Cap[IPEA]*) echo "$line" ;;
        esac
    done </proc/$$/status
    printf 'umask %s\n' "$(umask)"
    printf 'cwd %s\n' "$(readlink /proc/$$/cwd)"
    # shellcheck disable=SC3045 # dash, bash and busybox have -c
    printf 'core %s\n' "$(ulimit -c)"
    printf 'oom %s\n' "$(cat /proc/$$/oom_score_adj)"
    read -r _ _ _ _ group session _ </proc/$$/stat
    printf 'group %s session %s self %s\n' "$group" "$session" $$
    printf 'parent %s\n' "$PPID"
    # the shell holds this script too
    for fd in "/proc/$$/fd/"*; do
        case $(readlink "$fd") in
        "$0") ;;
        *) printf 'fd %s %s\n' "${fd##*/}" "$(readlink "$fd")" ;;
        esac
    done
} >"$run.part" 2>/dev/null
case $1 in finish) cat >"$dir/stdin" ;; esac
mv "$run.part" "$run"
[ -n "${SLURM_FAKE_DO-}" ] || SLURM_FAKE_DO=$(cat "$dir/do" || cat "$dir/../do") 2>/dev/null
eval "$SLURM_FAKE_DO"
