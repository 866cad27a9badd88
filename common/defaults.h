/* defaults.h - every default of jobprof, each with its reason.
 *
 * This is the only place for defaults, so that the parser, the site file, the
 * man pages and the protocol agree. The names contain the units. grammar.h
 * (options) and sitefile.h (site and user file) list the settings that a user
 * can change.
 */
#ifndef JP_COMMON_DEFAULTS_H
#define JP_COMMON_DEFAULTS_H

/* The step's report for programs. If it exists, the report is finished. */
#define JP_SUMMARY_NAME "summary.json"

/* --- protocol: how long each process waits ------------------------------- */

/* A node's finish reads each log once (about 1 GB/s). If it takes longer, it is
 * killed and nothing is lost: the report reads the raw files instead. */
#define JP_DEF_FINISH_LIMIT_MS 5000

/* Nodes leave a step within seconds of each other. A node that is not "done"
 * after this time counts as missing. It is longer than finish_limit by the time
 * that Slurm needs to tear a step down. */
#define JP_DEF_ALLDONE_WAIT_MS 15000

/* A user at a prompt waits this long for the report, not longer; then the card
 * contains the command that finishes it. */
#define JP_DEF_REPORT_LIMIT_MS 30000

/* 0: as many threads as CPUs, at most JP_REPORT_THREADS_MAX. srun runs on login
 * nodes that belong to everybody. */
#define JP_DEF_REPORT_THREADS 0
#define JP_REPORT_THREADS_MAX 8

/* srun's user waits for it; a site with busy login nodes sets 10. */
#define JP_DEF_REPORT_NICE 0

/* The claim is touched once a second. If twenty touches are missing, its owner
 * is gone, even if the file system is slow. */
#define JP_DEF_CLAIM_STALE_MS 20000

/* How long a disk may take to sync a summary or a partial. Local disks take
 * milliseconds; a file system that hangs must not delay a step's end. */
#define JP_DEF_SYNC_MS 1000

/* srun's own report starts within a second of the last node. If nobody has
 * claimed the report after ten, no srun will come. */
#define JP_DEF_WATCHER_DELAY_MS 10000

/* No process of ours outlives its step by more than this. */
#define JP_DEF_WATCHER_LIFE_MS 60000

/* An operation in flight for half a minute is suspicious; checkpoints mostly
 * take less. The other times of a hang are in proportion
 * (orchestrator/ingest/hung.c). */
#define JP_DEF_HANG_SUSPECT_MS 30000

/* Probes of clocks: 20 to 50 per second bring the error below the noise of the
 * time stamps, a line over 4 s follows the drift of a quartz, and packets
 * closer than 100 us queue behind each other. */
#define JP_DEF_CLOCK_CADENCE_US 20000
#define JP_DEF_CLOCK_WINDOW_S 4
#define JP_DEF_CLOCK_SPACING_US 100
#define JP_DEF_CLOCK_SNAPSHOT_MS 100
/* Probes slow down beyond half a percent of a processor: the noise of one core
 * is larger. */
#define JP_DEF_CLOCK_CPU_PERMILLE 5
/* Preset auto: with this time for each neighbour, a node's probes cost 0.5 % of
 * a processor (0.63 % at 93 probes per second, of which half are its own and
 * half are answered). */
#define JP_CLOCK_NEIGHBOUR_US 11000
#define JP_CLOCK_NEIGHBOURS_MAX 6
/* A node begins with a probe each 50 ms and neighbour. What these have cost
 * decides how often it probes from then on. */
#define JP_CLOCK_FIRST_US 50000

/* Slurm's default KillWait, used if the controller does not answer. */
#define JP_DEF_KILL_WAIT_S 30

/* Nodes whose runner is not ready within this time run without it. */
#define JP_DEF_RUNNER_READY_MS 60000

/* --- files ---------------------------------------------------------------- */

#define JP_DEF_SITE_FILE JP_SYSCONFDIR "/jobprof.conf"

/* Releases of NCCL that have trouble with a profiler. */
#define JP_DEF_KNOWN_BAD JP_SYSCONFDIR "/nccl-known-bad.conf"

/* Beside the batch script's output, where users look first; %j keeps jobs
 * apart. Relative patterns start at the submit directory. */
#define JP_DEF_DIR "jobprof-%j"

/* A settings file is read as a whole; 1 MiB is a hundred times a large one. */
#define JP_SITEFILE_MAX_BYTES (1024 * 1024)
#define JP_SITEFILE_MAX_DEPTH 10

/* An option's value. Slurm does not limit it; 4 KiB are enough for every key
 * with the longest path. */
#define JP_OPTION_MAX 4096
#define JP_PATTERN_MAX 1024

/* --- NCCL profilers ------------------------------------------------------- */

/* The release if neither `nccl=` nor the site file sets one, with a note in the
 * settings' reason: the newest one known to jobprof, because older ones ignore
 * unknown variables. */
#define JP_DEF_NCCL_VERSION "2.30"

/* Training jobs are usually profiled for some hundred iterations. */
#define JP_DEF_ITERATIONS 200

/* Collectives in one iteration: a layer has one to four, a model some tens. */
#define JP_DEF_COLLS 64

/* Communicators of one rank: world, tensor, data, pipeline. */
#define JP_DEF_COMMS 4

/* Profiler memory of one rank: small compared with any training rank. */
#define JP_DEF_MEM "256M"

/* All profilers on a node may together use one part in this many of the step's
 * memory there; the rest is for the program. */
#define JP_STEP_MEMORY_PARTS 4

/* One step's raw files on disk. */
#define JP_DEF_DISK "10G"

/* Leave the file system usable: below this nothing is written. */
#define JP_DEF_MIN_FREE "1G"

/* Processes of a node that are watched for hangs; 16 tasks of 32 workers. A
 * node agent takes 15 MiB for so many. */
#define JP_WATCHED_PROCESSES 512

/* Disk space of a node for the files of each module of its agent, in MiB: a day
 * of 16 tasks and 8 GPUs with a sample per second. Files of longer runs are
 * thinned out. The option that takes samples has a key for it; in a build
 * without that option, the other modules have this space. */
#define JP_DEF_AGENT_DISK_MIB 64

#endif
