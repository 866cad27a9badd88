#!/bin/bash
# packages.sh - the release's tarball and packages as a stranger gets them: built
# twice, built without npm and network, installed in a bare Debian, used there by
# an unprivileged user on Debian's Slurm, upgraded and purged. By hand, as root: it
# takes ten minutes and needs debhelper, lintian, debootstrap and rpm.
#     contrib/checks/packages.sh [FOLDER]     a configured build folder with charts
# Each step prints a line with its seconds; the exit status says whether all passed.
# shellcheck disable=SC2015 # A && B || C: C tells the failure of either
set -u
build=$(cd "${1:-build}" 2>/dev/null && pwd) || { echo "no build folder" >&2; exit 2; }
source=$(cd "$(dirname -- "$0")/../.." && pwd)
# WORK=FOLDER: that one, which stays, to go on by hand: packages.sh BUILD STAGE
work=${WORK:-$(mktemp -d /var/tmp/jobprof-packages.XXXXXX)} || exit 1
suite=${SUITE:-bookworm}
mirror=${MIRROR:-http://deb.debian.org/debian}
root=$work/root      # where the packages are used
builder=$work/builder # where they are built
plain=$work/plain     # where README and the tutorial are typed
failed=0

cleanup() {
    local m
    for m in "$root"/proc "$root"/dev "$builder"/proc "$builder"/dev "$plain"/proc "$plain"/dev; do
        ! mountpoint -q "$m" || umount -l "$m"
    done
    [ -n "${WORK-}" ] || rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

step() { # step NAME COMMAND...: a line with result and seconds
    local name=$1 start=$SECONDS
    shift
    if ("$@") >"$work/log" 2>&1; then
        printf 'ok    %4d s  %s\n' $((SECONDS - start)) "$name"
        grep -E '^note: ' "$work/log" | sed 's/^note: /               /'
    else
        printf 'FAIL  %4d s  %s\n' $((SECONDS - start)) "$name"
        tail -n 25 "$work/log" | sed 's/^/    /'
        failed=$((failed + 1))
        return 1
    fi
}

# --- the tarball --------------------------------------------------------------

tarball() {
    cd "$build" || return
    make -s dist && tarball=$(ls "$build"/jobprof-*.tar.xz) && mv "$tarball" "$work/first.tar.xz" &&
        sleep 2 && touch "$source/README.md" && make -s dist &&
        cmp "$tarball" "$work/first.tar.xz" || return
    mv "$tarball" "$work/" && rm "$work/first.tar.xz"
    echo "note: $(basename "$tarball") $(stat -c %s "$work/$(basename "$tarball")") bytes"
}

unpack() { # unpack FOLDER
    mkdir -p "$1" && tar -x --strip-components=1 -C "$1" -f "$work"/jobprof-*.tar.xz
}

offline_build() { # as a packager without network, npm, git and the optional libraries
    unpack "$work/offline" && cd "$work/offline" || return
    mkdir "$work/nonpm" || return
    local program
    for program in npm node nodejs curl git autoconf automake; do
        printf '#!/bin/sh\necho "%s was called" >&2\nexit 1\n' "$program" >"$work/nonpm/$program"
        chmod 755 "$work/nonpm/$program"
    done
    rm "$work/nonpm"/n* # not found at all
    PATH=$work/nonpm:/usr/bin:/bin NPM=no NODE=no unshare -n nice ./configure -q --prefix=/opt/jobprof \
        NPM='' NODE='' CURL='' --without-sqlite --without-isal --without-zstd --without-curl --without-slurm >configure.log 2>&1 &&
        PATH=$work/nonpm:/usr/bin:/bin unshare -n nice make -s -j"$(nproc)" >make.log 2>&1 ||
        { tail configure.log make.log; return 1; }
    ! grep -F 'was called' configure.log make.log || return
    [ -s orchestrator/report/web/charts.bundle.js ] && tail -n +2 orchestrator/report/html_assets.c |
        grep -A 1 '^const char html_assets_charts' | grep -q '^"' || { echo "no charts"; return 1; }
    readelf -d orchestrator/jobprof | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | xargs echo "note: needs"
    make -s install DESTDIR="$work/opt" >/dev/null 2>&1 || return
    [ -z "$(find "$work/opt" -type f ! -path '*/opt/jobprof/*')" ] ||
        { find "$work/opt" -type f ! -path '*/opt/jobprof/*'; return 1; }
}

# --- deb ----------------------------------------------------------------------

in_folder() { # in_folder ROOT COMMAND...: in that bare Debian
    chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
        HOME=/root LC_ALL=C.UTF-8 "${@:2}"
}

mount_in() { mount --bind /dev "$1/dev" && mount -t proc proc "$1/proc"; }

bare() { # a Debian for the packages' use and one to build them
    nice debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" || return
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod 755 "$root/usr/sbin/policy-rc.d"
    cp -a "$root" "$builder" && mount_in "$root" && mount_in "$builder"
}

prepare_builder() { # debian/control says what a build needs
    rm -rf "$builder/build" && unpack "$builder/build/one/jobprof" && unpack "$builder/build/two/jobprof-elsewhere" || return
    in_folder "$builder" apt-get update -q &&
        in_folder "$builder" apt-get install -qy --no-install-recommends build-essential &&
        in_folder "$builder" apt-get build-dep -qy --no-install-recommends /build/one/jobprof
}

build_deb() { # no network while it builds
    unshare -n chroot "$builder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
        sh -c "cd /build/one/jobprof && nice dpkg-buildpackage -us -uc -b" >"$work/deb.log" 2>&1 ||
        { tail -n 30 "$work/deb.log"; return 1; }
    rm -rf "$work/deb" && mv "$builder/build/one" "$work/deb" && mkdir "$builder/build/one"
    find "$work/deb" -name '*.deb' -printf 'note: %f\n'
}

reproduced() { # the same tree again, in a folder of another name
    in_folder "$builder" sh -c "cd /build/two/jobprof-elsewhere && nice dpkg-buildpackage -us -uc -b" \
        >"$work/deb2.log" 2>&1 || { tail -n 30 "$work/deb2.log"; return 1; }
    local deb status=0
    for deb in "$work"/deb/*.deb; do
        case $deb in *-dbgsym_*) continue ;; esac
        cmp "$deb" "$builder/build/two/${deb##*/}" || status=1
    done
    return $status
}

lint_deb() {
    lintian --no-cfg --allow-root --fail-on error,warning "$work"/deb/*.changes >"$work/lintian" 2>&1 || { cat "$work/lintian"; return 1; }
}

# --- a bare Debian ------------------------------------------------------------

inside() { in_folder "$root" "$@"; }

bare_slurm() {
    inside apt-get update -q && inside apt-get install -qy --no-install-recommends \
        slurm-client slurmd slurmctld munge hostname procps systemd || return
    inside id alice >/dev/null 2>&1 || inside useradd -m -s /bin/bash alice || return
    inside find / -xdev -path /proc -prune -o -path '*jobprof*' -print | sort >"$work/before"
    cat >"$root/etc/slurm/slurm.conf" <<'CONF'
ClusterName=bare
SlurmctldHost=bare(10.77.0.1)
AuthType=auth/munge
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ReturnToService=2
NodeName=bare NodeAddr=10.77.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
    printf '127.0.0.1 localhost\n10.77.0.1 bare\n' >"$root/etc/hosts"
    echo 'CgroupPlugin=cgroup/v1' >"$root/etc/slurm/cgroup.conf" # used by nothing here
    mkdir -p "$root/var/spool/slurmctld" "$root/var/spool/slurmd"
    # Debian's Slurm has this line; the administrators' guide says so
    grep -qx 'include /etc/slurm/plugstack.conf.d/\*.conf' "$root/etc/slurm/plugstack.conf" || return
    echo '# the site had this before' >"$root/etc/slurm/plugstack.conf.d/other.conf"
}

on_slurm() { # on_slurm COMMAND: by alice, on Debian's Slurm with a net and processes of its own
    cat >"$root/root/session.sh" <<'SESSION'
# shellcheck disable=SC2015 # A && B || C: C tells the failure of either
set -u
mount -t proc proc /proc
mount -t sysfs sys /sys && mount -t tmpfs cgroup /sys/fs/cgroup # slurmd asks which kind is there
install -d -o munge -g munge -m 755 /run/munge
[ -e /etc/munge/munge.key ] || /usr/sbin/mungekey --create >/dev/null 2>&1 ||
    dd if=/dev/urandom bs=32 count=1 of=/etc/munge/munge.key 2>/dev/null
chown munge:munge /etc/munge/munge.key; chmod 400 /etc/munge/munge.key
setpriv --reuid munge --regid munge --init-groups munged --force
slurmctld -c && slurmd -c || exit 1 # what the last session ran is over
for _ in $(seq 60); do timeout 5 sinfo -h -o %T | grep -q idle && break; sleep 0.3; done
runuser -u alice -- bash -lc "cd && $1"
SESSION
    # shellcheck disable=SC2016 # the inner shell expands it
    unshare -nmpfu sh -c 'ip link set lo up && ip addr add 10.77.0.1/24 dev lo && hostname bare && exec chroot "$1" env -i \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root bash /root/session.sh "$2"' \
        sh "$root" "$1"
}

slurm_before() { on_slurm 'srun -n2 true'; }

debs_there() {
    mkdir -p "$root/root/debs" && cp "$work"/deb/*.deb "$root/root/debs/" && rm -f "$root"/root/debs/*dbgsym*
}

install_deb() {
    debs_there && inside bash -c 'apt-get install -qy --no-install-recommends /root/debs/*.deb' || return
    inside jobprof --version | sed 's/^/note: /'
}

# shellcheck disable=SC2016 # alice's shell expands it
step_and_report() {
    on_slurm 'rm -rf jobprof-*; srun --help | grep -q nccl-profile || exit 2
        srun -n2 --nccl-profile=inspector /usr/libexec/jobprof/ncclsim --iterations 200 >out 2>err ||
            { cat out err; exit 3; }
        grep "jobprof: " err | head -n 1 | sed "s/^/note: /"
        test -s jobprof-*/step-0/report.html && jobprof show jobprof-*/step-0 >/dev/null || exit 4
        jobprof doctor >doctor; grep -E "^(warn|fail)" doctor | sed "s/^/note: doctor: /"
        ! grep -E "^fail" doctor || exit 5
        grep -E "^ok +plugstack +/etc/slurm/plugstack.conf.d/jobprof.conf:[0-9]+ loads" doctor || { cat doctor; exit 6; }
        jobprof upload 2>&1 | grep "without libcurl" && exit 7
        jobprof report -q --parquet jobprof-*/step-0 2>err || { cat err; exit 8; }
        LC_ALL=C grep -qaP "\x28\xb5\x2f\xfd" jobprof-*/step-0/parquet/ops.parquet || exit 9 # zstd'
}

# What the administrators' guide has, typed in its order, block by block: root's
# commands in a shell with a network, those of a user on Slurm. NODE and N are its
# placeholders.
guide_blocks() { # each ends in a NUL
    awk '/^ *$/ || /^#/ { may = 1; if (on) printf "%c", 0; on = 0; next }
        /^    / && (may || on) { sub(/^ +/, ""); print; on = 1; may = 0; next }
        { if (on) printf "%c", 0; on = may = 0 }
        END { if (on) printf "%c", 0 }' "$source/docs/administrators.md"
}

typed_guide() {
    local block rc number=0
    rm -f "$work/typed"
    while IFS= read -r -d '' block; do
        number=$((number + 1))
        block=${block/ NODE / bare } block=${block/--nodes N/--nodes 1}
        case $block in
        srun* | *'doctor --nodes'*) on_slurm "$block" </dev/null ;;
        # "yes" to what apt asks; a chroot has no systemd that could start a timer now
        *) yes | inside bash -ec "systemctl() { command systemctl \"\${@/--now/--quiet}\"; }
cd /root/debs
$block" ;;
        esac >"$work/typed.out" 2>&1
        rc=$?
        { echo "$block"; cat "$work/typed.out"; } >>"$work/typed"
        [ $rc = 0 ] || { tail -n 40 "$work/typed"; return 1; }
        case $block in
        srun*) grep -q '^jobprof: ' "$work/typed.out" && ! grep '^fail' "$work/typed.out" ;;
        # apt keeps its log in a terminal, which a chroot has not
        *'metrics = '*) inside jobprof metrics collect ;;& # what its timer runs
        *'grep metrics') grep '^ok' "$work/typed.out" ;;
        *) ! grep -vF 'Is /dev/pts mounted?' "$work/typed.out" | grep -E '^fail|^(bash|E|sed|jobprof):' ;;
        esac || { tail -n 40 "$work/typed"; return 1; }
    done < <(guide_blocks)
    [ $number -ge 14 ] || { echo "only $number blocks"; return 1; }
    echo "note: $number blocks"
}

guide_deb() { # ... and then that Slurm runs on, without a trace for the next step
    debs_there && typed_guide || return
    on_slurm 'srun -n2 true 2>err && ! grep . err && rm -rf jobprof-* err' || return
    rm -rf "$root/etc/jobprof/conf.d" "$root/etc/jobprof/gc.env" "$root/shared" "$root/var/lib/jobprof" "$root/var/spool/jobprof"
    inside apt-get purge -qy jobprof jobprof-slurm libnccl-profiler-jobprof
}


# README's first try, the tutorial's commands and a demonstration of another kind,
# typed by root into one shell of a Debian that has nothing: a command a line
first_commands() {
    echo 'cd jobprof'
    sed -n '/^    \.\/quickstart demo/s/^    //p' "$source/README.md" | sed 's/  *# .*//' | head -n 1
    sed -n 's/^    \$ //p' "$source/docs/tutorial.md"
    echo '../quickstart demo --slow'
}

first_hour() {
    local command number
    [ -d "$plain" ] || nice debootstrap --variant=minbase --include=ca-certificates "$suite" "$plain" "$mirror" || return
    mountpoint -q "$plain/proc" || mount_in "$plain" || return
    rm -rf "$plain/root/jobprof" && unpack "$plain/root/jobprof" || return
    while IFS= read -r command; do
        # compare and a report that found something end with 1 or 3
        printf 'echo %q\n%s\n[ $? -le 3 ] || exit 1\n' "\$ $command" "$command"
    done < <(first_commands) >"$plain/root/typed"
    in_folder "$plain" sh -c 'cd /root && exec bash typed' </dev/null >"$work/first_hour" 2>&1 &&
        ! grep -E 'command not found|No such file' "$work/first_hour" || { tail -n 40 "$work/first_hour"; return 1; }
    number=$(grep -c '^\$ ' "$work/first_hour")
    [ "$number" -ge 18 ] || { echo "only $number commands"; return 1; }
    echo "note: $number commands"
}

upgrade_deb() { # the next version over this one; a changed setting stays
    local deb name
    echo '# changed by the site' >>"$root/etc/jobprof/jobprof.conf"
    for deb in "$root"/root/debs/*.deb; do
        name=$(basename "$deb")
        rm -rf "$work/up" && dpkg-deb -R "$deb" "$work/up" &&
            sed -i 's/^Version: .*/&+up1/; s/(= \([0-9.]*\))/(= \1+up1)/g' "$work/up/DEBIAN/control" &&
            dpkg-deb --root-owner-group -b "$work/up" "$root/root/debs/up-$name" && rm "$deb" || return
    done
    inside bash -c 'apt-get install -qy --no-install-recommends -o Dpkg::Options::=--force-confdef /root/debs/up-*.deb' &&
        inside dpkg-query -W jobprof | grep -F +up1 && grep -F '# changed by the site' "$root/etc/jobprof/jobprof.conf" &&
        step_and_report
}

remove_deb() { # a Slurm whose module is gone runs on and says nothing; the line comes back
    local line=$root/etc/slurm/plugstack.conf.d/jobprof.conf
    echo '# changed by the site' >>"$line"
    inside apt-get remove -qy jobprof jobprof-slurm libnccl-profiler-jobprof &&
        on_slurm 'srun -n2 true 2>err && ! grep . err' && [ ! -e "$line" ] || return
    inside bash -c 'apt-get install -qy --no-install-recommends /root/debs/up-*.deb' &&
        grep -qF '# changed by the site' "$line" && step_and_report || return
    inside apt-get remove -qy jobprof jobprof-slurm libnccl-profiler-jobprof
}

purge_deb() {
    inside apt-get purge -qy jobprof jobprof-slurm libnccl-profiler-jobprof &&
        on_slurm 'srun -n2 true && rm -rf jobprof-*' || return
    rm -rf "$root/root/debs"
    inside find / -xdev -path /proc -prune -o -path '*jobprof*' -print | sort | comm -13 "$work/before" - >"$work/left"
    [ ! -s "$work/left" ] || { cat "$work/left"; return 1; }
}

# --- rpm ----------------------------------------------------------------------

build_rpm() { # on a Debian: the build requirements are no rpms here
    rpmbuild --define "_topdir $work/rpm" --nodeps -ta "$work"/jobprof-*.tar.xz \
        --define "slurm_plugindir $(sed -n 's/^SLURM_PLUGINDIR = //p' "$build/Makefile" | grep '^/' || echo /usr/lib64/slurm)" \
        >"$work/rpm.log" 2>&1 || { tail -n 30 "$work/rpm.log"; return 1; }
    find "$work/rpm" -name '*.rpm' -printf 'note: %f\n'
}

lint_rpm() {
    find "$work/rpm" -name '*.rpm' ! -name '*debug*' -print0 |
        xargs -0 rpmlint -c "$source/contrib/checks/rpmlint.toml" >"$work/rpmlint" 2>&1
    grep -q ' packages and ' "$work/rpmlint" || { cat "$work/rpmlint"; return 1; }
    ! grep -E ': [EW]: ' "$work/rpmlint"
}

[ "$(id -u)" -eq 0 ] || { echo "packages.sh: as root, for chroot and unshare" >&2; exit 2; }
if [ $# -ge 2 ]; then
    if [ -d "$builder/proc" ]; then mount_in "$root" && mount_in "$builder"; fi
    for stage in "${@:2}"; do step "$stage" "$stage" || exit; done
    exit
fi
step "two tarballs have the same bytes" tarball || exit 1
step "it builds without npm, network and optional libraries" offline_build
if step "two bare Debians ($suite)" bare &&
    step "what debian/control says for a build" prepare_builder &&
    step "dpkg-buildpackage without network" build_deb; then
    step "lintian says nothing" lint_deb
    if step "Debian's Slurm in the other one" bare_slurm; then
        step "that Slurm runs a step before" slurm_before
        step "the administrators' guide as typed" guide_deb
        step "the packages install" install_deb &&
            step "a user's step leaves a report; doctor has nothing failed" step_and_report
        step "an upgrade keeps the site's settings" upgrade_deb
        step "removed: Slurm runs on" remove_deb
        step "purged: no file is left" purge_deb
    fi
    step "README's first try and the tutorial as typed in a third one" first_hour
    step "dpkg-buildpackage in another folder: the same bytes" reproduced
fi
step "rpmbuild" build_rpm && step "rpmlint says nothing" lint_rpm
[ $failed -eq 0 ]
