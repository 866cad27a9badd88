/* limits_rows.h - rows of limits_table, for limits.c only: waits by turns,
 * phases, own times, and what an all-clear may state. */
/* clang-format off */
    /* --- waits by turns (turns.c) */
    [JP_LIMIT_TURNS_COST] =
        {"turns_cost_min", JUDGE_TURNS, JP_LIMIT_IS_SHARE,
         "SLOW where ranks wait by turns, each time for another one: the run "
         "would be shorter by more than {} if ranks of one kind had equally "
         "much to do in each step",
         "then it is less than 1.1 times as fast as it could be; ranks that "
         "vary by 2 % cost up to 6 % where there are many"},
    /* --- in which phase of the training step a rank is late (phases.c) */
    [JP_LIMIT_PHASE_SHARE] =
        {"phase_share_min", 0.8, JP_LIMIT_IS_SHARE,
         "A late rank is late in a phase of the training step if that has at "
         "least {} of its lateness",
         "with less it is late elsewhere, too"},
    [JP_LIMIT_PHASE_TIMES] =
        {"phase_times_min", 3, JP_LIMIT_IS_NUMBER,
         "... and it is {} times as late there as in the mean of the other "
         "operations",
         "a phase with most operations has most of the lateness of a rank "
         "that is always late"},
    /* --- own times (orchestrator/judge/judge.h has the values) */
    [JP_LIMIT_OWN_ALARM] =
        {"own_alarm_max", JUDGE_FALSE_ALARM, JP_LIMIT_IS_SHARE,
         "By own times nobody is named if chance would name somebody in "
         "more than {} of healthy jobs",
         "shared out over all processes and questions; a wrong name costs more "
         "trust than a missed one"},
    [JP_LIMIT_OWN_WORTH] =
        {"own_cost_min", JUDGE_WORTH, JP_LIMIT_IS_SHARE,
         "... nor unless the run would be shorter without it by more than {}",
         "GPUs of one kind at one clock limit differ by about a percent "
         "anyway"},
    /* --- what an all-clear may state (verdict.c) */
    [JP_LIMIT_STATED] =
        {"stated_max", 0.03, JP_LIMIT_IS_SHARE,
         "UNJUDGED in place of OK where the smallest lateness that "
         "would have been seen is more than {} of the run",
         "a rank that costs less is hardly worth a search; an all-clear that "
         "misses more is none"},
    /* clang-format on */
