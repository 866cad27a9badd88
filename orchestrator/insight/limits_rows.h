/* limits_rows.h - the limits: constant, name, value, unit, text, reason. For
 * limits.h, which makes the enum of the rows, and limits.c, which makes the
 * table: both define LIMIT() before they include this file.
 *
 * The page prints the text and the reason of each row ("How the verdict is
 * decided"), so write them for users. What follows is for those who change a
 * value. Some values are sizes: a smaller fault is not worth a search. The
 * others say how sure a finding must be: a number of deviations, or a chance
 * that the fault is an accident. With a larger size or number, or a smaller
 * chance, more faults are missed. With the opposite, more healthy ranks are
 * accused.
 * tests/insight/table.test counts both errors over simulated jobs; run it after
 * each change.
 */
/* clang-format off */
/* --- hangs and crashes ------------------------------------------------ */
LIMIT(JP_LIMIT_HANG,
      "hang_min", JP_HANG_US, JP_LIMIT_IS_US,
      "HANG if an operation was in flight at the end for at least "
      "{}",
      "operations take milliseconds, or seconds if a rank loads data or "
      "writes a checkpoint. Watchdogs end a hang after minutes, so no hang "
      "is missed")
LIMIT(JP_LIMIT_CRASH_NODE,
      "crash_node_min", 95000, JP_LIMIT_IS_US,
      "FAILED names a task as the first of its node to fail where "
      "the next one failed more than {} later",
      "slurmstepd sees the first end at once, and looks for the next "
      "ones after 100 ms")
LIMIT(JP_LIMIT_CRASH_CLOCKS,
      "crash_clocks_min", 1000000, JP_LIMIT_IS_US,
      "... and as the first of all nodes if the first failure of another "
      "node was more than {} later; if clocks were compared, a lead of "
      "crash_node_min plus three times their uncertainty is enough",
      "clocks kept by NTP differ by milliseconds, other clocks by a "
      "second; Slurm's times are in whole seconds")
LIMIT(JP_LIMIT_CRASH_ALONE,
      "crash_alone_min", 5000000, JP_LIMIT_IS_US,
      "FAILED where SIGKILL ended a task and the next one, also "
      "killed, ended more than {} later",
      "whatever ends a step reaches all its nodes within a few seconds")

/* --- missing records -------------------------------------------------- */
LIMIT(JP_LIMIT_COVERAGE,
      "coverage_min", 0.99, JP_LIMIT_IS_SHARE,
      "Missing records are mentioned where fewer than {} of those "
      "expected are present",
      "one record in a hundred moves neither a median nor a rank's "
      "share of late arrivals by more than a hundredth")
LIMIT(JP_LIMIT_WHOLE,
      "whole_min", 0.9, JP_LIMIT_IS_SHARE,
      "... and lead to INCOMPLETE, if nothing else was found, where "
      "fewer than {} of the operations have the records of all "
      "their ranks",
      "lateness is judged by these operations; what is found in nine tenths "
      "of them holds for the run")
LIMIT(JP_LIMIT_BAD_LINES,
      "bad_lines_max", 0.01, JP_LIMIT_IS_SHARE,
      "INCOMPLETE where more than {} of the lines could not be read",
      "a line that cannot be read is a record of unknown rank and "
      "size, so it is judged as strictly as a lost one")

/* --- late ranks: short runs ------------------------------------------- */
/* Below late_ops_min a standard error is itself uncertain. The null
 * hypothesis is then that each rank of a communicator is as likely the last
 * one; the test is exact, and guards against a false accusation. */
LIMIT(JP_LIMIT_LATE_OPS,
      "late_ops_min", 80, JP_LIMIT_IS_NUMBER,
      "In a communicator with fewer than {} complete operations of a "
      "function, or where one of its processes has another communicator "
      "with fewer that takes a hundredth of the time, a late rank must "
      "also be proved by how often it comes last",
      "then each twentieth of the run has four of them, and their scatter "
      "gives the error")
LIMIT(JP_LIMIT_LATE_CHANCE,
      "late_chance_max", 1e-3, JP_LIMIT_IS_NUMBER,
      "... which is not proved where the chance of so many, if each "
      "rank were as likely the last one, is larger than {}",
      "by the exact binomial test for all ranks together: one job in a "
      "thousand; with so few operations that even the last one of all of "
      "them has a larger chance lateness is not judged")

/* --- late ranks: in parts of the run only ----------------------------- */
/* Parts are picked after looking at the data, so each of these limits is
 * against accidents: random twentieths of a run always have a latest group.
 */
LIMIT(JP_LIMIT_PART_RANKS,
      "late_part_ranks_min", 3, JP_LIMIT_IS_NUMBER,
      "A rank is late in parts of the run if they are outliers "
      "among its peers, unless there are fewer than {} peers",
      "two do not show how much they differ")
LIMIT(JP_LIMIT_PART_CLEAR,
      "late_part_clear_min", 4, JP_LIMIT_IS_NUMBER,
      "... and its late parts are above the others by more than {} "
      "times the deviation within both (of n late parts 1 + 1/n "
      "times as many)",
      "of random numbers the upper and lower half are 2.7 apart, and a "
      "few outliers of hiccups up to 5")
LIMIT(JP_LIMIT_PART_REST,
      "late_part_rest_max", 0.3, JP_LIMIT_IS_SHARE,
      "... and its excess in the others is at most {} of that in "
      "these",
      "otherwise the rank is late throughout, and only later at times")
LIMIT(JP_LIMIT_PART_OWN,
      "late_part_own_min", 0.6, JP_LIMIT_IS_SHARE,
      "... and in the run as a whole its excess is more than {} of "
      "what it is in these parts",
      "a rank that waits for messages of a late one is late in some "
      "parts and as early in the others")
LIMIT(JP_LIMIT_PART_LENGTH,
      "late_part_length_min", 4, JP_LIMIT_IS_NUMBER,
      "... and it is late in at least {} of the twenty parts of the "
      "run, or in the last two",
      "hiccups fall into two or three of them by chance")

/* --- late ranks: all along -------------------------------------------- */
/* Unit: own excess over the peers' median, in us of the whole run, and its
 * share of their time in communication. share, cost, slower and least are
 * sizes. errors, spread and node are significances: the null hypothesis is
 * that ranks of a kind differ only by the scatter over the parts of the run
 * (errors) and by what GPUs of one kind differ anyway (spread). Both must
 * be exceeded: a small steady difference is many times its error, and the
 * noise of one rank may be many times a spread. */
LIMIT(JP_LIMIT_LATE_SLICES,
      "late_slices_min", 10, JP_LIMIT_IS_NUMBER,
      "No late rank is named in a communicator with fewer than {} "
      "parts of the run that all of its ranks have",
      "the mean of the middle three fifths and its error need that many")
LIMIT(JP_LIMIT_LATE_WEIGHT,
      "late_weight_min", 0.01, JP_LIMIT_IS_SHARE,
      "A communicator with too few operations leaves a process "
      "unjudged where it takes more than {} of its time without "
      "waits",
      "a smaller share cannot change its excess by what would be named")
LIMIT(JP_LIMIT_LATE_SHARE,
      "late_share_min", 0.01, JP_LIMIT_IS_SHARE,
      "SLOW where a rank's own excess over its peers is more than "
      "{} of their time in communication",
      "less than a hundredth of the communication time is not worth a "
      "search")
LIMIT(JP_LIMIT_LATE_COST,
      "late_cost_min", 0.0125, JP_LIMIT_IS_SHARE,
      "... and more than {} of the run's time, which all ranks "
      "together lose",
      "GPUs of one kind at one clock limit differ by about a percent "
      "anyway; finding and replacing a rank that is later than that "
      "gains more of the job's GPU time")
LIMIT(JP_LIMIT_LATE_SLOWER,
      "late_slower_min", 0.04, JP_LIMIT_IS_SHARE,
      "... or more than {} of the part of the run in which its "
      "peers do not communicate",
      "GPUs of one kind do not differ by that much. If ranks compute "
      "for a part of the run only, the rank is much slower than its "
      "cost shows")
LIMIT(JP_LIMIT_LATE_LEAST,
      "late_least_min", 0.004, JP_LIMIT_IS_SHARE,
      "... and then still more than {} of the run's time",
      "a smaller part of a job's GPU time is not worth a search")
LIMIT(JP_LIMIT_LATE_TOLD,
      "late_told_min", 0.001, JP_LIMIT_IS_SHARE,
      "... and mending it saves more than {} of the GPU time, or of the run "
      "where it was replayed, as far as that is known",
      "a rank may have an excess that others hardly wait for, as in "
      "operations beside the computation")
LIMIT(JP_LIMIT_LATE_ERRORS,
      "late_errors_min", 7, JP_LIMIT_IS_NUMBER,
      "... and more than {} of its standard errors",
      "by Student's t of the dozen parts of the run that count, by "
      "chance once in 100,000 ranks")
LIMIT(JP_LIMIT_LATE_SPREAD,
      "late_spread_min", 5, JP_LIMIT_IS_NUMBER,
      "... and more than {} times what ranks of a kind differ by "
      "anyway (standard deviation, by the closest half; for n ranks "
      "1 + 6/n times as many)",
      "GPUs of one kind differ by a percent in clock; by chance once in 3 "
      "million ranks, and few ranks may be close by chance")
LIMIT(JP_LIMIT_LATE_NODE,
      "late_node_min", 2.5, JP_LIMIT_IS_NUMBER,
      "... which is {} for all ranks of a node together",
      "the mean of four ranks exceeds 2.5 of their standard deviations "
      "by chance once in 3 million nodes")
LIMIT(JP_LIMIT_LATE_STALL,
      "late_stall_min", 3, JP_LIMIT_IS_NUMBER,
      "A rank's lateness at its stalls (operations to which it comes "
      "late by more than 1 ms: at most stall_rare_max of all, and "
      "half of that in the mean of its peers) is left out where it is "
      "more than {} times as late there, in the mean, as at the other "
      "operations",
      "ranks that sometimes wait for samples are late by chance, different "
      "ones in different parts of the run; sums over parts do not show a "
      "lateness below")
LIMIT(JP_LIMIT_LATE_STALL_PART,
      "late_stall_part_max", 0.25, JP_LIMIT_IS_SHARE,
      "... In each part of the run, the lateness of stalls in at most {} of "
      "its operations is left out, and that of two stalls in any case",
      "a rank that comes late to many operations of a part is late for a "
      "time. So is a rank that stops in each part from some part on: by the "
      "exact binomial test, as many stops at random times leave other parts "
      "empty (late_chance_max, for all processes)")
LIMIT(JP_LIMIT_LATE_STALL_STEPS,
      "late_stall_steps_max", 0.5, JP_LIMIT_IS_SHARE,
      "... and at most that of stalls in {} of its steps, as counted in the "
      "communicator of fewest operations",
      "if a rank comes late to a step, only the first of its operations "
      "shows it. If one step in 20 has a stop, one part in 100,000 has as "
      "many stops")
LIMIT(JP_LIMIT_LATE_STALL_OTHERS,
      "late_stall_others_min", 1.5, JP_LIMIT_IS_NUMBER,
      "... Nothing is left out unless the ranks of one of its communicators "
      "stall more rarely than those of each other one, which stall at "
      "least {} times as often; the communicator of all ranks is not one "
      "of these",
      "in the others, the rank makes its mates late, and they come late "
      "together. Where all ranks are late about as often, it is not clear "
      "whose stops these are")
LIMIT(JP_LIMIT_LATE_COMPUTES,
      "late_computes_min", 0.05, JP_LIMIT_IS_SHARE,
      "How much slower a rank computes is judged where its peers "
      "compute for more than {} of the run",
      "below that, noise in the times of operations is a large part")
LIMIT(JP_LIMIT_LATE_REST,
      "late_rest_min", 0.7, JP_LIMIT_IS_NUMBER,
      "What ranks of a kind differ by is taken as at least {} of "
      "the deviation of all but the outliers",
      "the closest half may be close by chance")
LIMIT(JP_LIMIT_LATE_NODE_ERRORS,
      "late_node_errors_min", 5, JP_LIMIT_IS_NUMBER,
      "A node is late where the mean of its ranks is also more than {} "
      "times that mean's standard error (for n ranks 1 + 4/(n - 1) times "
      "as many)",
      "by chance once in 3 million nodes")
LIMIT(JP_LIMIT_LATE_LED,
      "late_led_min", 0.4, JP_LIMIT_IS_SHARE,
      "A late rank is explained by one that leads it if the excess "
      "of that one is more than {} of its own",
      "a leading rank has its excess in several communicators, a part "
      "in each")
LIMIT(JP_LIMIT_LATE_FAR,
      "late_far_min", 1.5, JP_LIMIT_IS_NUMBER,
      "... or by a rank of an AlltoAll that is more than {} times "
      "as late",
      "if two are about equally late, neither is the cause of the other")
LIMIT(JP_LIMIT_LATE_AS,
      "late_as_min", 0.5, JP_LIMIT_IS_SHARE,
      "A rank counts as one with as much work as a late one if its own "
      "excess is more than {} of the late one's",
      "half of its work is not an accident")
LIMIT(JP_LIMIT_LATE_SAME,
      "late_same_min", 0.7, JP_LIMIT_IS_SHARE,
      "A late rank is explained by one that it waits for, unless "
      "the excess of that one is less than {} of its own",
      "a rank that only passes a wait on has about the excess of the "
      "rank it waits for; a third is left for noise")
LIMIT(JP_LIMIT_LATE_MANY,
      "late_ranks_max", 4, JP_LIMIT_IS_NUMBER,
      "One finding names the first of the late ranks, and their "
      "number, where there are more than {}; of ranks that stall, as "
      "many are named, and the others counted",
      "more late ranks have no single cause")

/* --- stages, and ranks that stop at times ----------------------------- */
LIMIT(JP_LIMIT_STAGE_PIPELINES,
      "stage_pipelines_min", 2, JP_LIMIT_IS_NUMBER,
      "imbalance where a stage communicates less than the others by "
      "the limits of a late rank in all pipelines of a length, if "
      "there are at least {} of them",
      "one pipeline does not show how much its stages differ anyway")
LIMIT(JP_LIMIT_STALL_RARE,
      "stall_rare_max", 0.15, JP_LIMIT_IS_SHARE,
      "A late rank is said to stall instead where it does so in at "
      "most {} of its operations, and is late by little else",
      "a rank that stalls more often is late all along")

/* --- waits by turns (turns.c) ----------------------------------------- */
LIMIT(JP_LIMIT_TURNS_COST,
      "turns_cost_min", JUDGE_TURNS, JP_LIMIT_IS_SHARE,
      "SLOW where ranks wait by turns, each time for another one: the run "
      "would be shorter by more than {} if ranks of one kind had equally "
      "much to do in each step",
      "then it is less than 1.1 times as fast as it could be; ranks that "
      "vary by 2 % cost up to 6 % where there are many")

/* --- in which phase of the training step a rank is late (phases.c) ---- */
LIMIT(JP_LIMIT_PHASE_SHARE,
      "phase_share_min", 0.8, JP_LIMIT_IS_SHARE,
      "A late rank is late in a phase of the training step if that has at "
      "least {} of its lateness",
      "with less it is late elsewhere, too")
LIMIT(JP_LIMIT_PHASE_TIMES,
      "phase_times_min", 3, JP_LIMIT_IS_NUMBER,
      "... and it is {} times as late there as in the mean of the other "
      "operations",
      "a phase with most operations has most of the lateness of a rank "
      "that is always late")

/* --- own times (orchestrator/judge/judge.h has the values) ------------ */
LIMIT(JP_LIMIT_OWN_ALARM,
      "own_alarm_max", JUDGE_FALSE_ALARM, JP_LIMIT_IS_SHARE,
      "By own times nobody is named if chance would name somebody in "
      "more than {} of healthy jobs",
      "shared out over all processes and questions; a wrong name costs more "
      "trust than a missed one")
LIMIT(JP_LIMIT_OWN_WORTH,
      "own_cost_min", JUDGE_WORTH, JP_LIMIT_IS_SHARE,
      "... nor unless the run would be shorter without it by more than {}",
      "GPUs of one kind at one clock limit differ by about a percent "
      "anyway")

/* --- what an all-clear may state (verdict.c) -------------------------- */
LIMIT(JP_LIMIT_STATED,
      "stated_max", 0.03, JP_LIMIT_IS_SHARE,
      "UNJUDGED in place of OK where the smallest lateness that "
      "would have been seen is more than {} of the run",
      "a rank that costs less is hardly worth a search; an all-clear that "
      "misses more is none")

/* --- waits that are not recorded rank by rank ------------------------- */
/* Upper bounds: an excess must exceed them, so that a rank which waited
 * unseen is not accused. */
LIMIT(JP_LIMIT_HIDDEN_OPS,
      "hidden_ops_min", 5, JP_LIMIT_IS_NUMBER,
      "Waits in a Broadcast or Reduce are not estimated from fewer "
      "than {} operations",
      "the first operations of a program wait for long")
LIMIT(JP_LIMIT_HIDDEN_OVERLAP,
      "hidden_overlap_max", 8, JP_LIMIT_IS_NUMBER,
      "A delay that overlap hides counts for at most {} times the "
      "surplus of its network's time",
      "a longer delay would not be hidden")
LIMIT(JP_LIMIT_HIDDEN_LIKE,
      "hidden_like_min", 0.8, JP_LIMIT_IS_SHARE,
      "A process is a peer of one with a surplus of network time if "
      "its own surplus is more than {} of it",
      "messages of one size differ by a fifth")
LIMIT(JP_LIMIT_HIDDEN_DOUBT,
      "hidden_doubt_max", 2, JP_LIMIT_IS_NUMBER,
      "... and then the surplus counts for at most {} times what "
      "the peer shows of it",
      "the peer has as much to hide")
LIMIT(JP_LIMIT_HIDDEN_UNEVEN,
      "hidden_uneven_max", 2, JP_LIMIT_IS_NUMBER,
      "The longest message of an AlltoAll is taken as at most {} "
      "times the mean one",
      "experts are loaded unevenly, rarely by more than a factor of two")
LIMIT(JP_LIMIT_HIDDEN_CLOCK,
      "hidden_clock_us", 10, JP_LIMIT_IS_US,
      "An excess by operations that a CPU timed may be no lateness "
      "for up to {} of each; all of it where the time begins at the "
      "call",
      "measured: a CPU sees a kernel 0 to 7 us longer than the GPU in the "
      "median, and a call also waits in its stream")
LIMIT(JP_LIMIT_GROUPED_ROWS,
      "grouped_rows_min", 4, JP_LIMIT_IS_NUMBER,
      "Send and Recv of a rank belong to one kernel, as in an "
      "AlltoAll, where there are at least {} rows, and more if it "
      "does not send to itself",
      "a rank of a pipeline has one or two neighbours, in both "
      "directions")
LIMIT(JP_LIMIT_GROUPED_BY,
      "grouped_by_max", 1.02, JP_LIMIT_IS_NUMBER,
      "... and the longest takes at most {} times as long as the "
      "shortest",
      "all messages of one kernel end together")
LIMIT(JP_LIMIT_GROUPED_RANKS,
      "grouped_ranks_min", 4, JP_LIMIT_IS_NUMBER,
      "... or every other rank is a peer, which proves nothing in a "
      "communicator with fewer than {} ranks that do not send to "
      "themselves",
      "no stage of a longer pipeline exchanges messages with all others, "
      "and "
      "no stage sends to itself")
LIMIT(JP_LIMIT_GROUPED_ALIKE,
      "grouped_alike_min", 0.8, JP_LIMIT_IS_SHARE,
      "... and the peer of fewest messages has at least {} of those "
      "of most",
      "a peer may get no message now and then")
LIMIT(JP_LIMIT_GROUPED_WHOLE,
      "grouped_whole_min", 0.8, JP_LIMIT_IS_SHARE,
      "The time of each AlltoAll is used where each rank has all "
      "messages of at least {} of them. When messages took how long is "
      "used where at least that share of a rank's numbered messages have "
      "records",
      "otherwise the messages are numbered in another way, or a part of"
      " the run is missing")

/* --- hangs by numbers of ended operations ----------------------------- */
LIMIT(JP_LIMIT_HANG_STEPS,
      "hang_steps_min", 10, JP_LIMIT_IS_NUMBER,
      "From completed operations only, HANG if one communicator "
      "stopped within a step of its peers, after at least {} steps",
      "programs begin with operations that not all communicators of a "
      "shape share")
LIMIT(JP_LIMIT_HANG_LIKES,
      "hang_likes_min", 3, JP_LIMIT_IS_NUMBER,
      "From completed operations only, no communicator counts as "
      "stopped if it and its peers are fewer than {}",
      "if two communicators differ, it is unknown which of them is short")
LIMIT(JP_LIMIT_HANG_BUCKETS,
      "hang_buckets_max", 8, JP_LIMIT_IS_NUMBER,
      "Gradients of a step are taken to be cut into at most {} "
      "buckets",
      "buckets of gradients are tens of megabytes")
LIMIT(JP_LIMIT_HANG_STOPPED,
      "hang_stopped_max", 0.25, JP_LIMIT_IS_SHARE,
      "A communicator stopped if at most {} of its missing "
      "operations were visible in the second half of the run",
      "a communicator that stops has almost no missing operations before")
LIMIT(JP_LIMIT_HANG_LESS,
      "hang_less_min", 0.4, JP_LIMIT_IS_SHARE,
      "... and it had less to do in each step if more than {} of them were "
      "visible there",
      "if it does less in each step, half of the difference is in the "
      "second half")
LIMIT(JP_LIMIT_HANG_SILENCE,
      "hang_silence_min", 2, JP_LIMIT_IS_NUMBER,
      "HANG of unknown cause if the silence at the end is more than "
      "{} times the longest one before",
      "pauses of one kind, such as checkpoints, last about as long each "
      "time")
LIMIT(JP_LIMIT_CLOCK_APART,
      "clock_apart_min", 10e6, JP_LIMIT_IS_US,
      "Nodes' clocks are taken to differ, and the silence at the end is "
      "measured by one of them, where the ranks of most operations wrote "
      "records more than {} apart",
      "Inspector writes each operation within a second or so of its end, "
      "also of a busy process")

/* --- the network: changes during the run, expectations, links --------- */
/* Unit: the network's time in operations of one size, relative to what is
 * usual. The null hypothesis of a change is a constant with noise (F test,
 * net_chance_max). Comparisons with likes, peaks and a baseline have no such
 * test, but a factor above what healthy links differ by. */
LIMIT(JP_LIMIT_NET_OPS,
      "net_ops_min", 12, JP_LIMIT_IS_NUMBER,
      "The network's time is not judged from fewer than {} complete "
      "operations of a communicator, function and size",
      "a median and what it varies by need some; a change must be all the "
      "larger to be seen in few")
LIMIT(JP_LIMIT_NET_WEIGHT,
      "net_weight_min", 0.02, JP_LIMIT_IS_SHARE,
      "A function counts among those of which a communicator has too few "
      "operations where it takes more than {} of its time",
      "a smaller share cannot change what is judged")
LIMIT(JP_LIMIT_NET_US,
      "net_us_min", 8, JP_LIMIT_IS_US,
      "The network's trend is not judged if the median operation "
      "takes less than {}",
      "below, times in whole microseconds are too coarse")
LIMIT(JP_LIMIT_WARMUP_SKIP,
      "warmup_skip", 20, JP_LIMIT_IS_NUMBER,
      "The findings on the network leave out the first operations "
      "of a series, at most one in {}",
      "connections are made and algorithms tuned in it")
LIMIT(JP_LIMIT_NET_CHANCE,
      "net_chance_max", 3e-6, JP_LIMIT_IS_NUMBER,
      "DEGRADED where a constant with noise would look like a step or a line "
      "in a communicator's times with a probability below {}",
      "far below usual limits, as the place of the step is searched, blocks "
      "depend on each other, and a job has many communicators")
LIMIT(JP_LIMIT_NET_CHANGE,
      "net_change_min", 0.1, JP_LIMIT_IS_SHARE,
      "... and the network's time grew by more than {}",
      "congestion by other jobs makes a tenth")
LIMIT(JP_LIMIT_NET_LIKES,
      "net_likes_min", 0.25, JP_LIMIT_IS_SHARE,
      "DEGRADED where the network's time in a communicator is more than "
      "{} longer than the median of its peers (shape, function and size)",
      "rings of one shape differ in their paths by some tenths at "
      "most; a lane or link that is down takes more")
LIMIT(JP_LIMIT_NET_PEAKS,
      "net_peaks_min", 0.1, JP_LIMIT_IS_SHARE,
      "DEGRADED where the network's time in a communicator is more than "
      "{} longer than the site's peaks expect",
      "the site says what is healthy; a tenth is what other jobs' "
      "congestion makes")
LIMIT(JP_LIMIT_NET_RATE,
      "net_rate_min", 0.5, JP_LIMIT_IS_SHARE,
      "Where the site names no peaks, large messages between nodes "
      "are expected to reach at least {} of their adapters' rate",
      "NCCL's developers expect 96 % of a healthy adapter beside its GPU "
      "(24 GB/s of 200 Gb/s: NVIDIA/nccl-tests issue 119) and call 64 % of "
      "one behind the CPU normal (16 GB/s: NVIDIA/nccl issue 412); what "
      "halves the first, as ACS does, leaves 48 % (nccl-tests issue 112)")
LIMIT(JP_LIMIT_NET_RATE_BYTES,
      "net_rate_bytes", 67108864, JP_LIMIT_IS_BYTES,
      "... and a message is large if it has at least {}",
      "latency is a part of the time of smaller ones, and the rate does not "
      "show it")
LIMIT(JP_LIMIT_NET_RATE_RANKS,
      "net_rate_ranks_max", 64, JP_LIMIT_IS_NUMBER,
      "... and nothing is expected in communicators with more than "
      "{} ranks",
      "each rank's part of a message is too small then")
LIMIT(JP_LIMIT_NET_BASELINE,
      "net_baseline_min", 0.15, JP_LIMIT_IS_SHARE,
      "DEGRADED where the network's time in a communicator is more than "
      "{} longer than the median of the baseline's reports, and its "
      "bandwidth is twice as far below theirs as that of 19 of 20 reports",
      "steps differ by a tenth in their place on the fabric; a difference "
      "that earlier steps also had is not reported")
LIMIT(JP_LIMIT_NET_REPORTS,
      "net_reports_min", 5, JP_LIMIT_IS_NUMBER,
      "A baseline is not used with fewer than {} reports",
      "fewer steps do not show how much they differ")
LIMIT(JP_LIMIT_NET_JUDGED,
      "net_judged_min", 0.5, JP_LIMIT_IS_SHARE,
      "Absolute speed, drift and single links count as judged if "
      "operations with more than {} of the network's time could be "
      "compared",
      "otherwise the larger half could be slow without notice")
LIMIT(JP_LIMIT_NET_SHARE,
      "net_share_min", 0.002, JP_LIMIT_IS_SHARE,
      "... and that is more than {} of the time in communication",
      "a change this clear is worth one line, even if it costs little")
LIMIT(JP_LIMIT_NET_FLOOR,
      "net_floor", 4e-6, JP_LIMIT_IS_NUMBER,
      "A variance of the logarithms of times needs an explanation "
      "if it is larger than {}",
      "two parts in a thousand, the clock's own steps and noise")
LIMIT(JP_LIMIT_NET_HUMP,
      "net_hump_max", 0.5, JP_LIMIT_IS_SHARE,
      "A slow stretch with an end is found where it leaves less than {} "
      "of the variance that a step or a line leaves, and costs as much as a "
      "late rank that is named",
      "it has one more edge to fit with, and bursts of other jobs are "
      "everyday")
LIMIT(JP_LIMIT_NET_MINOR,
      "net_minor_min", 0.3, JP_LIMIT_IS_SHARE,
      "Of steps and drifts in one run, a kind is reported if its share "
      "of all excess is more than {}",
      "the smaller one is often the other kind, misread")
LIMIT(JP_LIMIT_NET_COMMS,
      "net_comms_min", 3, JP_LIMIT_IS_NUMBER,
      "Communicators are compared with their peers if there are at "
      "least {} of them",
      "if two differ, it is unknown which of them is correct")
LIMIT(JP_LIMIT_NET_GROUPS,
      "net_groups_min", 3, JP_LIMIT_IS_NUMBER,
      "Groups of an AlltoAll are compared with their peers if there "
      "are at least {} of them",
      "if two differ, it is unknown which of them is correct")
LIMIT(JP_LIMIT_NET_CLEAR,
      "net_clear_min", 5e-5, JP_LIMIT_IS_NUMBER,
      "Slow groups and slow links are reported if their cost, as a part "
      "of the time in communication, is more than {}",
      "a link that differs so clearly from its peers throughout is faulty, "
      "even if it is used little")
LIMIT(JP_LIMIT_NET_SPREAD,
      "net_baseline_spread_min", 2, JP_LIMIT_IS_NUMBER,
      "A bandwidth is below a baseline's where its distance from the "
      "median is more than {} times that of 19 of 20 reports",
      "one step in 20 is that far below anyway")
LIMIT(JP_LIMIT_NET_BW_US,
      "net_bw_us_min", 20, JP_LIMIT_IS_US,
      "A bandwidth is compared where the median operation takes at "
      "least {}",
      "below, whole microseconds are too coarse for a bandwidth")
LIMIT(JP_LIMIT_NET_BEST,
      "net_best", 0.95, JP_LIMIT_IS_NUMBER,
      "Without an expected bandwidth, the cell's own is used, at the "
      "quantile {}",
      "single operations are timed too short")
LIMIT(JP_LIMIT_NET_PAIRS,
      "net_pairs_min", 0.2, JP_LIMIT_IS_SHARE,
      "DEGRADED where Send and Recv with one node, or between two, take "
      "more than {} longer than their peers",
      "the fastest messages of the side that waits least contain almost no "
      "waits; a lane or link that is down takes more")
LIMIT(JP_LIMIT_PAIRS_LIKES,
      "pairs_likes_min", 5, JP_LIMIT_IS_NUMBER,
      "Send and Recv of two ranks are compared with their peers if "
      "there are at least {} of them",
      "fewer do not show their spread")
LIMIT(JP_LIMIT_PAIRS_MIN,
      "pairs_min", 4, JP_LIMIT_IS_NUMBER,
      "... and reported if one node, or two, have at least {} slow "
      "pairs",
      "two pipelines have as many, counting both directions")
LIMIT(JP_LIMIT_PAIRS_ECHO,
      "pairs_echo_min", 0.5, JP_LIMIT_IS_SHARE,
      "... not counting pairs whose excess is at most {} of the slowest "
      "pair's",
      "a pipeline that waits for a slow link makes its other messages "
      "wait a little on both sides")
LIMIT(JP_LIMIT_PAIRS_MOST,
      "pairs_most_min", 0.6, JP_LIMIT_IS_SHARE,
      "... and of two nodes the second is named where its share of the "
      "slow pairs is more than {}",
      "a third node would have half of them")

/* --- sizes: findings that leave the verdict OK ------------------------ */
LIMIT(JP_LIMIT_SMALL_SHARE,
      "small_share_min", 0.2, JP_LIMIT_IS_SHARE,
      "small_messages where messages below 64 KiB take more than {} "
      "of the network's time",
      "below it a link's latency is most of the time, and larger "
      "buckets would save it")
LIMIT(JP_LIMIT_SMALL_BYTES,
      "small_bytes", 65536, JP_LIMIT_IS_BYTES,
      "A message is small if it has at most {}",
      "below it a link's latency is most of the time")
LIMIT(JP_LIMIT_SMALL_OPS,
      "small_ops_min", 1000, JP_LIMIT_IS_NUMBER,
      "... and they are not reported if there are fewer than {} of "
      "them",
      "fewer may be chance")
LIMIT(JP_LIMIT_IMBALANCE,
      "imbalance_min", 2, JP_LIMIT_IS_NUMBER,
      "imbalance where a rank receives more than {} times the mean "
      "of its communicator by Send and Recv",
      "the inner stages of a pipeline receive up to twice what the "
      "outer ones do; the mean lies between")
LIMIT(JP_LIMIT_IMBALANCE_RANKS,
      "imbalance_ranks_min", 4, JP_LIMIT_IS_NUMBER,
      "No imbalance is reported in a communicator with fewer than "
      "{} ranks",
      "the mean of fewer ranks depends mostly on the judged one")
LIMIT(JP_LIMIT_IMBALANCE_BYTES,
      "imbalance_bytes_min", 1048576, JP_LIMIT_IS_BYTES,
      "... nor where a rank receives at most {} on average",
      "less takes no time that matters")

/* --- intervals, warm-up, replays -------------------------------------- */
LIMIT(JP_LIMIT_INTERVAL,
      "interval_errors", 2.2, JP_LIMIT_IS_NUMBER,
      "A finding is reported if its share is more than {} of its "
      "standard errors (its interval goes as far to either side)",
      "by Student's t of the dozen parts of a run that count, 95 of 100 "
      "such intervals hold the share; one that holds 0 may be nothing")
LIMIT(JP_LIMIT_WARMUP_PART,
      "warmup_part", 5, JP_LIMIT_IS_NUMBER,
      "Warm-up is looked for in at most one in {} operations of a "
      "kind",
      "a run that warms up for longer has done little else")
LIMIT(JP_LIMIT_WARMUP_TIMES,
      "warmup_times_min", 1.5, JP_LIMIT_IS_NUMBER,
      "... in which operations take more than {} times the median "
      "of later ones",
      "jitter is smaller; connecting and tuning take far longer")
LIMIT(JP_LIMIT_WARMUP_KINDS,
      "warmup_kinds_min", 0.5, JP_LIMIT_IS_SHARE,
      "... and is reported if the kinds that have one take more "
      "than {} of the time",
      "warm-up is of the program, not of one communicator")
/* clang-format on */
