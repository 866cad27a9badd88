/* limits_rows.h - rows of limits_table, for limits.c only: waits by turns,
 * phases, own times, and what an all-clear may state. */
/* clang-format off */
    /* --- single waits, and waits by turns (turns.c) */
    [JP_LIMIT_TURNS_COST] =
        {"turns_cost_min", 0.12, JP_LIMIT_IS_SHARE,
         "SLOW where ranks of a communicator wait by turns, each time "
         "for another one, for more than {} of the run",
         "the last of many ranks is always some percent later than the mean: "
         "in 1,000 simulated jobs whose ranks vary by 2 % it was 11 % at most"},
    [JP_LIMIT_TURNS_OPS] =
        {"turns_ops_min", 4, JP_LIMIT_IS_NUMBER,
         "... in a communicator with at least {} operations, each "
         "counted by its waits",
         "a few of them may be single waits"},
    [JP_LIMIT_TURNS_FIRST] =
        {"turns_first_max", 3, JP_LIMIT_IS_NUMBER,
         "... without the first operation of a kind, if ranks waited there "
         "for more than {} times the mean of the others. If all waits are "
         "more than as many times what the last operations show (one in "
         "warmup_part, taken for the whole run), only the latter counts",
         "programs start at different times on each node"},
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
    [JP_LIMIT_OWN_STALL] =
        {"own_stall_min", JUDGE_STALL_US, JP_LIMIT_IS_US,
         "... nor for single intervals, unless these are longer than {}",
         "interrupts and page faults take less on every rank"},
    [JP_LIMIT_OWN_WHOLE] =
        {"own_whole_min", JUDGE_WHOLE, JP_LIMIT_IS_SHARE,
         "... nor unless more than {} of the operations have all their "
         "members, in an order that all of them share",
         "without them it is not known who waited for whom"},
    [JP_LIMIT_OWN_OVERLAP] =
        {"own_clock_max", JUDGE_OVERLAP, JP_LIMIT_IS_NUMBER,
         "... nor, of records without start and end, if the clocks of own "
         "times run for more than {} times the length of the run",
         "operations that overlap computation are counted several times; the "
         "length of a run is only known to some percent"},
    /* --- what an all-clear may state (verdict.c) */
    [JP_LIMIT_STATED] =
        {"stated_max", 0.03, JP_LIMIT_IS_SHARE,
         "UNJUDGED in place of OK where the smallest lateness that "
         "would have been seen is more than {} of the run",
         "a rank that costs less is hardly worth a search; an all-clear that "
         "misses more is none"},
    /* clang-format on */
