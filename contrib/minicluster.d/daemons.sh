# shellcheck shell=bash disable=SC2154  # mc_* come from the options
# Namespaces and daemons: starting a cluster, entering its nodes, ending it.

# Socket names end at 108 bytes: slurmstepd's take up to 45 beside the folder.
MC_DIR_MAX=60

# How long a start may take before it is called failed, in tenths of a second.
MC_START_MAX=300

MC_CGROUPS=/sys/fs/cgroup

# --- cgroups ---------------------------------------------------------------

choose_cgroup() {
    # Sets mc_cgroup: v1 where its freezer is mounted, else v2.
    mc_cgroup=none
    [ "$mc_proctrack" = cgroup ] || return 0
    [ "$UID" -eq 0 ] || mc_die "--proctrack cgroup needs root"
    if grep -q " $MC_CGROUPS/freezer .* - cgroup .*freezer" /proc/self/mountinfo; then
        mc_cgroup=v1
    elif grep -q " $MC_CGROUPS .* - cgroup2 " /proc/self/mountinfo; then
        mc_cgroup=v2
    else
        mc_die "--proctrack cgroup needs cgroup v1's freezer at $MC_CGROUPS/freezer or cgroup v2 at $MC_CGROUPS, which are not mounted"
    fi
}

cgroup_top() {
    # cgroup_top v1|v2: the hierarchy that has the cluster's folder
    case $1 in
    v1) echo "$MC_CGROUPS/freezer" ;;
    *) echo "$MC_CGROUPS" ;;
    esac
}

cgroup_dir() { printf '%s/jobprof-mc-%s' "$(cgroup_top "$mc_cgroup")" "$mc_id"; }

pass_controllers() {
    # pass_controllers DIR...: all that DIR has is there for its folders, too
    local dir word
    for dir; do
        # shellcheck disable=SC2013 # words of one line
        for word in $(cat "$dir/cgroup.controllers"); do
            echo "+$word" >"$dir/cgroup.subtree_control" || :
        done
    done 2>/dev/null
}

enter_cgroup() {
    # enter_cgroup NODE: sets mc_enter, which runs a command with the node's cgroup as
    # the namespace's root. This process goes there.
    local dir pid word
    dir=$(cgroup_dir)/$1
    mc_enter=(unshare --cgroup)
    mkdir -p "$dir"
    if [ "$mc_cgroup" = v2 ]; then
        # a folder that passes controllers on takes no process, so a slurmd that
        # is started again goes to where its steps live, or clears up first
        find "$dir" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null || :
        pid=$(find "$dir" -name cgroup.procs -exec cat {} + 2>/dev/null | head -n 1)
        if [ -n "$pid" ]; then
            mc_enter=(nsenter --cgroup="/proc/$pid/ns/cgroup")
            mkdir -p "$dir/slurmd"
            dir=$dir/slurmd
        else
            pass_controllers "$MC_CGROUPS" "$(cgroup_dir)"
            # shellcheck disable=SC2013 # words of one line
            for word in $(cat "$dir/cgroup.subtree_control"); do
                echo "-$word" >"$dir/cgroup.subtree_control"
            done
        fi
    fi
    echo "$BASHPID" >"$dir/cgroup.procs"
}

bind_cgroup() {
    # bind_cgroup v1|v2 DIR ID NODE: the node sees its own cgroup as the root
    case $1 in
    v1) mount --bind "$MC_CGROUPS/freezer/jobprof-mc-$3/$4" "$MC_CGROUPS/freezer" ;;
    v2)
        umount -l "$MC_CGROUPS"
        mount -t cgroup2 cgroup2 "$MC_CGROUPS"
        # slurmd takes its root from process 1, which is outside of it
        echo 0::/ >"$2/n/$4/cgroup"
        mount --bind "$2/n/$4/cgroup" /proc/1/cgroup
        # only a folder without processes can pass controllers on
        mkdir -p "$MC_CGROUPS/slurmd" "$MC_CGROUPS/system.slice"
        echo $$ >"$MC_CGROUPS/slurmd/cgroup.procs"
        pass_controllers "$MC_CGROUPS" "$MC_CGROUPS/system.slice" ;;
    esac
}

thaw_cgroups() {
    # In v1 a frozen process does not even die.
    local file
    while read -r file; do
        echo THAWED >"$file" 2>/dev/null || :
    done < <(find "$(cgroup_dir)" -name freezer.state 2>/dev/null)
}

remove_cgroups() {
    local tries
    for ((tries = 0; tries < 20; tries++)); do
        find "$(cgroup_dir)" -depth -type d -exec rmdir {} + 2>/dev/null || :
        [ -d "$(cgroup_dir)" ] || return 0
        sleep 0.05
    done
    mc_say "$(cgroup_dir): cannot remove it"
}

# --- inside the namespaces -------------------------------------------------

in_plain_chroot() {
    # Whether / is no mount point, as in a chroot whose folder is part of a file
    # system: there `unshare --mount` cannot make its mounts private.
    ! awk '$5 == "/" { found = 1 } END { exit !found }' /proc/self/mountinfo
}

private_chroot() {
    # private_chroot CMD...: within a new mount namespace of a plain chroot, CMD
    # with the same tree as root, which is a mount point, and private. Nothing may be
    # mounted before that: the outer / may be shared, and would show it to the host.
    # /proc is a mount, too, and can be private alone: all begins there.
    local at=/proc/fs self=$PWD
    mount --make-private /proc
    mount -t tmpfs jobprof-mc $at
    mkdir $at/root
    mount --rbind / $at/root
    mount --make-rprivate $at/root
    umount $at/root$at
    exec chroot $at/root env --chdir="$self" "$@"
}

bind_common() {
    # bind_common DIR ID: users, hosts and configuration, for nodes and login
    mount --bind "$1/etc/passwd.$2" /etc/passwd
    mount --bind "$1/etc/group.$2" /etc/group
    [ ! -f /etc/hosts ] || mount --bind "$1/etc/hosts.$2" /etc/hosts
    # a command without SLURM_CONF must not find a system's Slurm
    [ ! -d /etc/slurm ] || mount --bind "$1/etc" /etc/slurm
    if [ -c "$1/fuse" ] && [ -c /dev/fuse ]; then
        mount --bind "$1/fuse" /dev/fuse
    fi
}

inside() {
    # inside ROLE DIR ID none|v1|v2 CMD...: become ctld or nK, then CMD
    local role=$1 dir=$2 id=$3 cgroup=$4
    shift 4
    hostname "$role"
    bind_common "$dir" "$id"
    case $role in
    n[0-9]*)
        mount --bind "$dir/n/$role/boot_id.$id" /proc/sys/kernel/random/boot_id
        bind_cgroup "$cgroup" "$dir" "$id" "$role" ;;
    esac
    exec "$@"
}

inside_login() {
    # inside_login DIR ID USER CMD...: CMD as on a login node, as USER ('' = stay)
    local dir=$1 id=$2 user=$3 uid home
    shift 3
    bind_common "$dir" "$id"
    case $user in '' | root) exec "$@" ;; esac
    uid=$(id -u -- "$user") || mc_die "no user '$user'"
    home=$(getent passwd "$user" | cut -d: -f6)
    export HOME="$home" USER="$user" LOGNAME="$user"
    unset XDG_RUNTIME_DIR
    set -- setpriv --reuid "$uid" --regid "$(id -g -- "$user")" --init-groups -- "$@"
    # what root uses need not be open to others
    setpriv --reuid "$uid" --regid "$uid" --clear-groups test -w "${TMPDIR:-/tmp}" ||
        unset TMPDIR
    if ! setpriv --reuid "$uid" --regid "$uid" --clear-groups test -x .; then
        mc_say "$user cannot enter $PWD: running in $home"
        cd "$home" || exit
    fi
    exec "$@"
}

enter_node() {
    # enter_node PID CMD...: CMD beside PID, in its namespaces and below its root,
    # which is not the host's where all this runs in a chroot
    local pid=$1 flags=(--mount --uts --root)
    [ "$mc_proctrack" != cgroup ] || flags+=(--cgroup)
    shift
    [ "$UID" -eq 0 ] || flags+=(--user --preserve-credentials)
    exec env SLURM_CONF="$mc_dir/etc/slurm.conf" nsenter "${flags[@]}" \
        --wd="$PWD" --target "$pid" "$@"
}

run_inside() {
    # run_inside OWN CMD...: CMD with the environment of a user of the cluster
    local own=$1 key vars=()
    shift
    vars=(SLURM_CONF="$mc_dir/etc/slurm.conf" JOBPROF_MINICLUSTER="$mc_dir"
        JOBPROF_MC_ID="$mc_id" PATH="$mc_build/orchestrator:$PATH")
    if [ "$own" = yes ]; then
        # of a job around us nothing may reach the new cluster
        for key in "${!SLURM_@}" "${!SLURMD_@}"; do
            vars=(-u "$key" "${vars[@]}")
        done
    fi
    if [ "$UID" -eq 0 ]; then
        set_unshare
        set -- "${mc_unshare[@]}" "$MC_SELF" __login "$mc_dir" "$mc_id" "$mc_user" "$@"
    fi
    umask "$mc_umask"
    env "${vars[@]}" "$@"
}

# --- starting --------------------------------------------------------------

set_unshare() {
    # Sets mc_unshare: the command that makes a daemon's namespaces.
    if [ "$UID" -eq 0 ] && in_plain_chroot; then
        mc_unshare=(unshare --mount --propagation unchanged --uts "$MC_SELF" __chroot)
    elif [ "$UID" -eq 0 ]; then
        mc_unshare=(unshare --mount --uts)
    else
        mc_unshare=(unshare --user --map-current-user --keep-caps --mount --uts)
    fi
}

check_host() {
    local why
    mc_need munged munge
    mc_need slurmctld slurmctld
    mc_need slurmd slurmd
    mc_need srun slurm-client
    mc_need scontrol slurm-client
    mc_need unshare util-linux
    mc_need setpriv util-linux
    mc_need hostname hostname
    set_unshare
    if [ "$UID" -ne 0 ] && in_plain_chroot; then
        mc_die "in a chroot, Linux gives user namespaces to nobody: run as root"
    fi
    why=$("${mc_unshare[@]}" true 2>&1) ||
        mc_die "$why: run as root, or allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)"
    choose_cgroup
}

make_dir() {
    # The empty state folder, its parent ours; stale ones of ours are cleared.
    local starter
    [ ${#mc_dir} -le $MC_DIR_MAX ] ||
        mc_die "$mc_dir: longer than $MC_DIR_MAX bytes (socket names end at 108): use a shorter --dir or TMPDIR"
    case $mc_dir in
    *[!A-Za-z0-9/._+-]*) mc_die "$mc_dir: letters, digits and / . _ + - only" ;;
    esac
    umask 022
    mkdir -p -- "$(dirname -- "$mc_dir")"
    [ -O "$(dirname -- "$mc_dir")" ] || [ -k "$(dirname -- "$mc_dir")" ] ||
        mc_die "$(dirname -- "$mc_dir"): not ours"
    if [ -r "$mc_dir/cluster" ]; then
        starter=$(sed -n 's/^mc_starter=//p' "$mc_dir/cluster")
        ! is_up || mc_die "$mc_dir: a cluster runs there already"
        [ ! -d "/proc/${starter:-0}" ] || [ "$starter" = $$ ] ||
            mc_die "$mc_dir: process $starter is starting a cluster there"
        (load; stop_cluster)
    fi
    mkdir -p -- "$mc_dir"
    rmdir -- "$mc_dir" 2>/dev/null || mc_die "$mc_dir: not empty"
    mkdir -- "$mc_dir"
    [ "$UID" -eq 0 ] || chmod 0700 "$mc_dir"
    mc_dir=$(cd "$mc_dir" && pwd -P)
    mkdir "$mc_dir"/{etc,ctld,log,n,pid,home}
    if [ "$UID" -eq 0 ] && ! setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$mc_dir"; then
        mc_say "other users cannot enter $mc_dir: --user will not work"
    fi
}

make_fuse() {
    # A /dev/fuse that users may open; the host's is often root's alone.
    [ "$UID" -eq 0 ] && [ -c /dev/fuse ] || return 0
    mknod -m 0666 "$mc_dir/fuse" c 10 229 2>/dev/null || return 0
    # on a file system mounted nodev it cannot be opened
    (: <>"$mc_dir/fuse") 2>/dev/null || rm -f "$mc_dir/fuse"
}

spawn() {
    # spawn NAME ROLE CMD...: CMD in new namespaces; its pid goes to pid/NAME
    local name=$1 role=$2 key
    set_unshare
    mc_enter=()
    local vars=(PATH="$PATH" LANG=C.UTF-8 JOBPROF_MC_ID="$mc_id")
    shift 2
    for key in ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS; do
        [ -z "${!key:-}" ] || vars+=("$key=${!key}")
    done
    (
        cd "$mc_dir/log" || exit
        exec </dev/null >"$mc_dir/log/$name.out" 2>&1
        (
            if [ "$mc_cgroup" != none ] && [ "$role" != ctld ]; then
                enter_cgroup "$role"
            fi
            exec env -i "${vars[@]}" setsid "${mc_enter[@]}" "${mc_unshare[@]}" "$MC_SELF" \
                __inside "$role" "$mc_dir" "$mc_id" "$mc_cgroup" "$@"
        ) &
        echo $! >"$mc_dir/pid/$name"
    )
}

start_munged() {
    head -c 1024 /dev/urandom >"$mc_dir/munge.key"
    chmod 0400 "$mc_dir/munge.key"
    spawn munged ctld munged --foreground --force --num-threads=2 \
        --key-file="$mc_dir/munge.key" --socket="$mc_dir/munge.sock" \
        --pid-file="$mc_dir/munged.munge-pid" --seed-file="$mc_dir/munge.seed"
    wait_for munged "munged made no socket" test -S "$mc_dir/munge.sock"
}

start_slurmctld() {
    spawn ctld ctld slurmctld -D -f "$mc_dir/etc/slurm.conf"
    wait_for ctld "slurmctld does not listen on port $mc_port" listens "$mc_port"
}

check_slurm() {
    # Nodes that share a munged see each other's credentials: only a Slurm that was
    # built for this takes them twice. All others come up, and fail with each step.
    local config
    config=$(SLURM_CONF=$mc_dir/etc/slurm.conf scontrol show config 2>/dev/null) || return 0
    case $config in
    *MULTIPLE_SLURMD*) ;;
    *SLURM_VERSION*) mc_die "$(command -v slurmctld): this Slurm was built without --enable-multiple-slurmd, so its nodes cannot share a host: build it with that option, or put Debian's first in PATH" ;;
    esac
}

start_slurmd() {
    # start_slurmd nK
    spawn "$1" "$1" slurmd -D -f "$mc_dir/etc/slurm.conf"
}

listens() { ports_in_use | grep -qx "$1"; }

is_idle() {
    # is_idle nK: its slurmd listens, and slurmctld gives it jobs
    listens $((mc_port + ${1#n})) || return 1
    case $(SLURM_CONF=$mc_dir/etc/slurm.conf sinfo -h -n "$1" -o '%t' 2>/dev/null) in
    idle | alloc | mix) return 0 ;;
    esac
    return 1
}

wait_idle() {
    # wait_idle nK...
    local node
    for node in "$@"; do
        wait_for "$node" "$node does not come up" is_idle "$node"
    done
}

wait_for() {
    # wait_for DAEMON MESSAGE TEST...: until TEST holds; fail when DAEMON ends
    local name=$1 message=$2 tries
    shift 2
    for ((tries = 0; tries < MC_START_MAX; tries++)); do
        ! "$@" || return 0
        # the mark comes some moments after the process
        [ "$tries" -lt 20 ] || daemon_alive "$name" || start_failed "$name" "$name ended"
        sleep 0.1
    done
    start_failed "$name" "$message"
}

start_failed() {
    # start_failed DAEMON MESSAGE: show the logs' ends, clean up, exit
    local log
    mc_say "$2; the ends of its logs:"
    for log in "$1" ctld; do
        log=$mc_dir/log/$log.out
        [ ! -s "$log" ] || tail -n 8 "$log" >&2
    done
    exit 1
}

start_cluster() {
    # From the options to a cluster whose nodes are all idle. Leaves traps set:
    # our end, also by a signal, is the cluster's end until the caller lifts them.
    local k nodes=()
    check_host
    if [ -z "$mc_build" ]; then
        mc_build=$MC_TOP
        [ ! -d "$MC_TOP/build" ] || mc_build=$MC_TOP/build
    fi
    make_dir
    trap stop_cluster EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    mc_id=$(tr -d - </proc/sys/kernel/random/uuid)
    choose_ports
    printf 'mc_id=%s\nmc_nodes=%d\nmc_port=%d\nmc_proctrack=%s\nmc_cgroup=%s\nmc_build=%q\nmc_starter=%d\n' \
        "$mc_id" "$mc_nodes" "$mc_port" "$mc_proctrack" "$mc_cgroup" "$mc_build" $$ >"$mc_dir/cluster"
    write_users
    write_nodes
    write_slurm_conf
    write_plugin_conf
    make_fuse
    start_munged
    start_slurmctld
    check_slurm
    for ((k = 1; k <= mc_nodes; k++)); do
        nodes+=("n$k")
        start_slurmd "n$k"
    done
    wait_idle "${nodes[@]}"
    sed -i '/^mc_starter=/d' "$mc_dir/cluster"
}

start_guard() {
    # Ends the cluster of a "run" that was killed before it could do so.
    # No child of ours: stop_cluster spares those.
    (
        cd /
        env JOBPROF_MC_ID="$mc_id" setsid bash -c \
            'tail --pid="$1" -f /dev/null; exec "$2" stop --dir "$3"' \
            minicluster-guard $$ "$MC_SELF" "$mc_dir" </dev/null >/dev/null 2>&1 &
    )
}

# --- ending ----------------------------------------------------------------

stop_cluster() {
    # Ends what mc_dir's cluster started, then removes the folder.
    [ -r "$mc_dir/cluster" ] || return 0
    thaw_cgroups
    kill_until_gone pids_of_cluster || mc_say "some processes do not die: $(pids_of_cluster | tr '\n' ' ')"
    remove_cgroups
    if [ -n "$mc_keep_logs" ]; then
        mkdir -p -- "$mc_keep_logs"
        cp -r -- "$mc_dir/log/." "$mc_keep_logs/"
        cp -- "$mc_dir"/etc/*.conf "$mc_dir/jobprof.conf" "$mc_keep_logs/" 2>/dev/null || :
    fi
    release_ports "$mc_port"
    rm -rf --one-file-system -- "$mc_dir"
    [ "$(dirname -- "$mc_dir")" != "$(mc_base)" ] || rmdir -- "$(mc_base)" 2>/dev/null || :
}
