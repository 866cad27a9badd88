# shellcheck shell=bash disable=SC2154  # mc_* come from the options
# Writing a cluster's files: slurm.conf, plugstack.conf, users, hosts, boot ids.

# Test users of a root cluster: name, uid and gid.
MC_USERS='alice:1001 bob:1002'

# A node's memory as told to Slurm, in MiB per CPU; nothing enforces it.
MC_MEM_PER_CPU=1024

write_slurm_conf() {
    local user key order node
    user=$(id -un)
    local -A conf=(
        [ClusterName]=minicluster
        [SlurmctldHost]='ctld(127.0.0.1)'
        [SlurmctldPort]=$mc_port
        # slurmd's lines carry the real ports; this only keeps 6818 out
        [SlurmdPort]=$((mc_port + 1))
        [SlurmUser]=$user
        [SlurmdUser]=$user
        [AuthType]=auth/munge
        [AuthInfo]="socket=$mc_dir/munge.sock"
        [StateSaveLocation]=$mc_dir/ctld
        [SlurmdSpoolDir]=$mc_dir/n/%n/spool
        [SlurmctldPidFile]=$mc_dir/ctld.slurm-pid
        [SlurmdPidFile]=$mc_dir/n/%n/slurm-pid
        [SlurmctldLogFile]=$mc_dir/log/slurmctld.log
        [SlurmdLogFile]=$mc_dir/log/slurmd.%n.log
        [SlurmctldDebug]=info
        [SlurmdDebug]=info
        [PlugStackConfig]=$mc_dir/etc/plugstack.conf
        [ProctrackType]=proctrack/$mc_proctrack
        [TaskPlugin]=task/none
        [SwitchType]=switch/none
        [MpiDefault]=none
        [PropagateResourceLimits]=NONE
        [MailProg]=/bin/true
        [JobCompType]=jobcomp/none
        [AccountingStorageType]=accounting_storage/none
        [JobAcctGatherType]=jobacct_gather/none
        # at once, no batching; heterogeneous jobs need the backfill scheduler
        [SchedulerType]=sched/backfill
        [SchedulerParameters]='bf_interval=1,sched_interval=2,batch_sched_delay=0'
        [SelectType]=select/cons_tres
        [SelectTypeParameters]=CR_Core_Memory
        [DefMemPerCPU]=$MC_MEM_PER_CPU
        # a node may claim more than this host has
        [SlurmdParameters]=config_overrides
        [ReturnToService]=2
        [KillWait]=$mc_kill_wait
        [UnkillableStepTimeout]=60
        [InactiveLimit]=0
        [SlurmctldTimeout]=60
        [SlurmdTimeout]=60
        [MaxJobCount]=20000
    )
    for key in "${!mc_set[@]}"; do
        conf[$key]=${mc_set[$key]}
    done
    order=$(printf '%s\n' "${!conf[@]}" | LC_ALL=C sort)
    {
        for key in $order; do
            printf '%s=%s\n' "$key" "${conf[$key]}"
        done
        for ((node = 1; node <= mc_nodes; node++)); do
            printf 'NodeName=n%d NodeAddr=127.0.0.1 Port=%d' $node $((mc_port + node))
            printf ' Sockets=1 CoresPerSocket=%d ThreadsPerCore=1 RealMemory=%d State=UNKNOWN\n' \
                "$mc_cpus" $((mc_cpus * MC_MEM_PER_CPU * 2))
        done
        echo 'PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=YES:16 State=UP'
    } >"$mc_dir/etc/slurm.conf"
    if [ "$mc_proctrack" = cgroup ]; then
        # no CgroupAutomount: "no" is its default, and 23.11 and later complain of it
        printf 'CgroupPlugin=cgroup/%s\nCgroupMountpoint=/sys/fs/cgroup\n' "$mc_cgroup" \
            >"$mc_dir/etc/cgroup.conf"
        [ "$mc_cgroup" = v1 ] || printf 'IgnoreSystemd=yes\n' >>"$mc_dir/etc/cgroup.conf"
        # no more memory than a step has asked for
        [ "${mc_set[TaskPlugin]:-}" != task/cgroup ] ||
            printf 'ConstrainRAMSpace=yes\n' >>"$mc_dir/etc/cgroup.conf"
    elif ! grep -q " $MC_CGROUPS " /proc/self/mountinfo; then
        # slurmd asks which kind is mounted unless it is named, even if it uses none
        echo 'CgroupPlugin=cgroup/v1' >"$mc_dir/etc/cgroup.conf"
    fi
}

check_build() {
    # What is built there runs with the caller's rights, root's too: nobody but the
    # caller, root and who could change this script may be able to change it.
    local part dir top dirs=() uid hex mode owner
    mc_build=$(readlink -m -- "$mc_build")
    good_build "$mc_build" || mc_die "--build: '$mc_build': an absolute path without : and \" is needed" 2
    top=/
    case $mc_build/ in "$MC_TOP"/*) top=$MC_TOP ;; esac
    for part in '' /orchestrator /spank/.libs /plugins/nccl_recorder/.libs; do
        dir=$mc_build$part
        # what is absent can be made by who may write to the folder above
        while [ ! -e "$dir" ]; do dir=$(dirname -- "$dir"); done
        until [ "$dir" = "$top" ] || [ "$dir" = / ]; do
            dirs+=("$dir")
            dir=$(dirname -- "$dir")
        done
    done
    owner=$(stat -c %u -- "$MC_SELF")
    while read -r uid hex dir; do
        case $uid in
        0 | "$EUID" | "$owner") ;;
        *) mc_die "$dir belongs to $(own_user "$uid"), who could change what is built there: use another --build" ;;
        esac
        mode=$((16#$hex & 07777))
        # within the script's tree: of a group that may write, whose the script is, too
        [ "$top" = / ] || mode=$((mode & ~020))
        [ $((mode & 022)) = 0 ] || [ $((mode & 01000)) != 0 ] ||
            mc_die "others can write to $dir (mode $(printf %o "$mode")), and so change what is built there: use another --build"
    done < <(printf '%s\0' "$top" "${dirs[@]}" | sort -zu | xargs -0 stat -c '%u %f %n' --)
}

choose_helpers() {
    # Sets mc_helpers: the build's folder of jobprof-node, or where others may change
    # that, so that the module would start nothing from there, one with copies.
    local part=$mc_build/orchestrator
    mc_helpers=$part
    while [ -n "$part" ]; do
        if [ -n "$(find "$part" -maxdepth 0 \( ! -uid 0 ! -uid "$UID" \
            -o -perm /022 ! -perm -1000 \) 2>/dev/null)" ]; then
            mc_helpers=$mc_dir/helpers
            mkdir "$mc_helpers"
            cp -- "$mc_build/orchestrator/"{jobprof,jobprof-node} "$mc_helpers"
            chmod -R go-w "$mc_helpers"
            return
        fi
        part=${part%/*}
    done
}

write_plugin_conf() {
    local recorder=$mc_build/plugins/nccl_recorder/.libs/libnccl-profiler-jobprof.so
    choose_helpers
    if [ -n "$mc_config" ]; then
        cp -- "$mc_config" "$mc_dir/jobprof.conf"
    else
        printf 'nccl: { recorder = "%s"; };\n' "$recorder" >"$mc_dir/jobprof.conf"
    fi
    case $mc_plugstack in
    none) : >"$mc_dir/etc/plugstack.conf" ;;
    '')
        printf 'optional %s config=%s node=%s\n' \
            "$mc_build/spank/.libs/spank_jobprof.so" "$mc_dir/jobprof.conf" \
            "$mc_helpers/jobprof-node" >"$mc_dir/etc/plugstack.conf" ;;
    *) sed "s#node=$mc_build/orchestrator/#node=$mc_helpers/#" "$mc_plugstack" \
        >"$mc_dir/etc/plugstack.conf" ;;
    esac
    chmod 0644 "$mc_dir/jobprof.conf" "$mc_dir/etc/plugstack.conf"
}

write_users() {
    # passwd and group for the namespaces: the host's, plus the test users.
    local entry name uid out=$mc_dir/etc
    cp /etc/passwd "$out/passwd.$mc_id"
    cp /etc/group "$out/group.$mc_id"
    if [ "$UID" -ne 0 ]; then
        # a user from a directory service is in no file
        grep -q "^[^:]*:[^:]*:$UID:" "$out/passwd.$mc_id" ||
            getent passwd "$UID" >>"$out/passwd.$mc_id"
        return 0
    fi
    for entry in $MC_USERS; do
        name=${entry%:*} uid=${entry#*:}
        sed -i -e "/^$name:/d" -e "/^[^:]*:[^:]*:$uid:/d" "$out/passwd.$mc_id" "$out/group.$mc_id"
        printf '%s:x:%d:%d::%s:/bin/bash\n' "$name" "$uid" "$uid" "$mc_dir/home/$name" \
            >>"$out/passwd.$mc_id"
        printf '%s:x:%d:\n' "$name" "$uid" >>"$out/group.$mc_id"
        mkdir -m 0700 "$mc_dir/home/$name"
        chown "$uid:$uid" "$mc_dir/home/$name"
    done
}

write_nodes() {
    # hosts for all; a spool folder and a boot id for each node.
    local node
    {
        grep -vE '[[:space:]](ctld|n[0-9]+)([[:space:]]|$)' /etc/hosts 2>/dev/null || :
        printf '127.0.0.1 ctld\n'
        for ((node = 1; node <= mc_nodes; node++)); do
            printf '127.0.0.1 n%d\n' $node
            mkdir -p "$mc_dir/n/n$node/spool"
            cat /proc/sys/kernel/random/uuid >"$mc_dir/n/n$node/boot_id.$mc_id"
        done
    } >"$mc_dir/etc/hosts.$mc_id"
}
