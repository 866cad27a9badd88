#!/bin/sh
# cost.sh TEST [ARGUMENT...] - runs a test, as make check does with each. The last line
# of its log says what it cost, with all processes that it waited for:
# "# cost: 1.20 user 0.31 system 2.05 elapsed", in seconds.
# JP_TEST_LIMIT: seconds after which a test is ended and fails (default: none).
# Its log then shows what its processes were doing.
read -r started _ </proc/uptime

# limited TEST [ARGUMENT...]: ended after $JP_TEST_LIMIT seconds
limited() {
    # timeout gives the test a process group of its own and ends the whole group.
    # A shell lets what runs in the background ignore SIGINT; tests send it.
    env --default-signal=INT,QUIT timeout --kill-after=10 "$JP_TEST_LIMIT" "$@" &
    test=$!
    trap 'kill -TERM $test 2>/dev/null' INT TERM HUP
    (
        trap 'kill $! 2>/dev/null; exit' TERM
        sleep $((JP_TEST_LIMIT > 5 ? JP_TEST_LIMIT - 2 : JP_TEST_LIMIT)) &
        wait $!
        echo "# still running, its processes:"
        ps -eo pgid,pid,ppid,stat,wchan:20,time,args |
            awk -v group=$test 'NR == 1 || $1 == group { print "# " substr($0, 1, 160) }'
    ) &
    guard=$!
    wait $test
    status=$?
    # a signal that came meanwhile ends the wait, not the test
    while kill -0 $test 2>/dev/null; do
        wait $test
        status=$?
    done
    kill $guard 2>/dev/null
    [ $status -ne 124 ] || echo "Bail out! ended after $JP_TEST_LIMIT s"
}

if [ "${JP_TEST_LIMIT:-0}" -gt 0 ]; then
    limited "$@"
else
    "$@"
    status=$?
fi
read -r ended _ </proc/uptime
# fields 16 and 17 are the children's, in hundredths; a pipe's shell has none
read -r _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ user system _ </proc/$$/stat
elapsed=$((${ended%.*}${ended#*.} - ${started%.*}${started#*.}))
printf '# cost: %d.%02d user %d.%02d system %d.%02d elapsed\n' \
    $((user / 100)) $((user % 100)) $((system / 100)) $((system % 100)) \
    $((elapsed / 100)) $((elapsed % 100))
exit $status
