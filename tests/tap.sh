#!/bin/sh
# tap.sh AWK [ARGUMENT...] - awk for build-aux/tap-driver.sh, which reads with it
# what a test prints. cmocka prints "not ok 3 # SKIP test_x" for a check that is
# skipped (since 2.0 "ok 3 # SKIP test_x"), and by TAP's rules the former is a
# failure. skip_check() of tests/common/skip.h has printed "# skip: reason"
# before; the two become "ok 3 - test_x # SKIP reason". A skip without a reason
# is passed on as it is.
sed -u -E '
/^# skip: /{
    h
    d
}
/^(not )?ok [0-9]+ # SKIP /{
    G
    s/^(not )?(ok [0-9]+) # SKIP (.*)\n# skip: (.*)$/\2 - \3 # SKIP \4/
    s/\n.*//
    x
    s/.*//
    x
}' | "$@"
