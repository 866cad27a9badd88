#!/bin/sh
# jobprof-tell.sh - for the last lines of a batch script: the verdicts of the
# job's steps go into the job's comment, which "sacct -o JobID,Comment" shows, or
# into a mail. It runs as the user and never fails the job.
#     jobprof-tell.sh comment
#     jobprof-tell.sh mail [ADDRESS]
how=${1-} address=${2:-${USER-}}
job=${SLURM_JOB_ID-} folder=${SLURM_SUBMIT_DIR:-.}
case $how in comment | mail) ;; *)
    echo "usage: jobprof-tell.sh comment|mail [ADDRESS]" >&2
    exit 2
    ;;
esac
[ -n "$job" ] || { echo "jobprof-tell.sh: not in a job" >&2; exit 2; }

verdicts() { # "step-0 OK, step-1 SLOW"
    for summary in "$folder"/jobprof-"$job"*/step-*/summary.txt; do
        [ -r "$summary" ] || continue
        step=${summary%/*}
        word=$(sed -n '1s/^\([A-Z]*\).*/\1/p' "$summary")
        printf '%s%s %s' "$comma" "${step##*/}" "${word:-?}"
        comma=', '
    done
}
comma=''
text=$(verdicts)
[ -n "$text" ] || exit 0
case $how in
comment) scontrol update JobId="$job" Comment="jobprof: $text" ;;
mail) cat "$folder"/jobprof-"$job"*/step-*/summary.txt |
    mail -s "jobprof: job $job: $text" "$address" ;;
esac || echo "jobprof-tell.sh: $how failed; the reports are in $folder" >&2
exit 0
