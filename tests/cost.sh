#!/bin/sh
# cost.sh TEST [ARGUMENT...] - runs a test, as make check does with each; the last line
# of its log says what it cost, with all that it waited for:
# "# cost: 1.20 user 0.31 system 2.05 elapsed", in seconds.
read -r started _ </proc/uptime
"$@"
status=$?
read -r ended _ </proc/uptime
# fields 16 and 17 are the children's, in hundredths; a pipe's shell has none
read -r _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ user system _ </proc/$$/stat
elapsed=$((${ended%.*}${ended#*.} - ${started%.*}${started#*.}))
printf '# cost: %d.%02d user %d.%02d system %d.%02d elapsed\n' \
    $((user / 100)) $((user % 100)) $((system / 100)) $((system % 100)) \
    $((elapsed / 100)) $((elapsed % 100))
exit $status
