# lib.sh - what the tests of jobprof plan share; $work is their folder
# shellcheck shell=bash disable=SC2034,SC2154 # shared with the tests
jobprof=$(realpath "${JOBPROF:-${top_builddir:-.}/orchestrator/jobprof}")

# A site file that names both of NVIDIA's libraries, and a list of known-bad
# releases.
make_site() {
    mkdir -p "$work/lib" "$work/home" "$work/cwd"
    : >"$work/lib/i.so"
    : >"$work/lib/e.so"
    cat >"$work/known" <<'LIST'
known_bad = (
    { since = "2.28"; until = "2.29"; mode = "inspector"; action = "fallback";
      symptom = "it crashes"; source = "https://example.org/1"; },
    { since = "2.28"; mode = "any"; action = "warn";
      symptom = "it is slow"; source = "https://example.org/2"; },
    { since = "2.28"; mode = "recorder"; action = "note";
      symptom = "it is odd"; source = "https://example.org/3"; },
    { since = "2.27.9"; until = "2.27.9"; mode = "example"; action = "fallback";
      symptom = "it hangs"; source = "https://example.org/4"; }
);
LIST
    cat >"$work/site" <<SITE
nccl = {
    inspector = "$work/lib/i.so";
    example = "$work/lib/e.so";
    known_bad = "$work/known";
};
SITE
    chmod 600 "$work/site" "$work/known"
}

# run COMMAND ARGUMENT...: in a small environment, with extra in it; out, err
# and rc. A plan is printed whole, unless it is asked for otherwise (brief=1).
brief=
extra=
rc=0
run() {
    local whole=-v
    [ "$1" = plan ] && [ -z "$brief" ] || whole=
    (cd "$work/cwd" && exec env -i PATH="$PATH" HOME="$work/home" \
        ${extra:+"$extra"} "$jobprof" "$1" $whole --config "$work/site" "${@:2}" \
        >"$work/out" 2>"$work/err" </dev/null)
    rc=$?
}
