/* limits_history.h - rows of limits_table: what jobprof history claims of many
 * steps. For limits.c only.
 */
/* clang-format off */
    [JP_LIMIT_HISTORY_CHANCE] =
        {"history_chance_max", 0.01, JP_LIMIT_IS_SHARE,
         "A node is slow where luck makes it late so often with a chance that "
         "is no larger, the number of nodes taken into account",
         "a site that looks each day then drains a sound node once in three "
         "months; the bad one is far below it after a few dozen jobs"},
    [JP_LIMIT_HISTORY_VOTES] =
        {"history_votes_min", 3, JP_LIMIT_IS_NUMBER,
         "... and it was the latest in no fewer jobs",
         "in jobs of hundreds of nodes two would do by the chance alone"},
    [JP_LIMIT_HISTORY_CHANGED] =
        {"history_changed_max", 0.01, JP_LIMIT_IS_SHARE,
         "The bandwidth between two nodes changed where luck makes such a line "
         "with a chance that is no larger, the number of pairs taken into "
         "account",
         "there are as many pairs as nodes squared"},
