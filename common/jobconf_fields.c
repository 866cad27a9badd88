/* jobconf_fields.c - the table of job.conf's scalar fields. */
#include "common/jobconf_fields.h"

#include <stddef.h>

#include "common/defaults.h"

#define FIELD(group, key, kind, member, number, text)                          \
    {                                                                          \
        group, key, kind, offsetof(struct jp_jobconf, member), number, text    \
    }
#define STRING(group, key, member, text)                                       \
    FIELD(group, key, JOBCONF_STRING, member, 0, text)
#define POLICY(key, number)                                                    \
    FIELD("policy", #key, JOBCONF_U32, policy.key, number, NULL)

const struct jobconf_field jobconf_fields[] = {
    FIELD("", "schema", JOBCONF_U32, schema, 0, NULL),
    STRING("", "version", version, ""),
    FIELD("", "created_us", JOBCONF_U64, created_us, 0, NULL),
    FIELD("job", "id", JOBCONF_U64, job_id, 0, NULL),
    STRING("job", "step", step_id, ""),
    FIELD("job", "restart", JOBCONF_U32, restart, 0, NULL),
    STRING("job", "user", user, ""),
    FIELD("job", "uid", JOBCONF_U32, uid, 0, NULL),
    STRING("job", "name", job_name, ""),
    STRING("job", "account", account, ""),
    STRING("job", "partition", partition, ""),
    STRING("job", "submit_dir", submit_dir, ""),
    STRING("job", "submit_host", submit_host, ""),
    STRING("job", "slurm", slurm_version, ""),
    FIELD("job", "nodes", JOBCONF_U32, nnodes, 0, NULL),
    FIELD("job", "tasks", JOBCONF_U32, ntasks, 0, NULL),
    STRING("job", "command", command, ""),
    STRING("job", "site_file", site_file, ""),
    STRING("nccl", "request", nccl_request, "off"),
    STRING("nccl", "mode", nccl_mode, "off"),
    FIELD("nccl", "explicit", JOBCONF_BOOL, explicit_request, 0, NULL),
    FIELD("nccl", "hidden", JOBCONF_BOOL, hidden, 0, NULL),
    STRING("nccl", "final_dir", final_dir, ""),
    FIELD("nccl", "memory_bytes", JOBCONF_U64, memory_bytes, 0, NULL),
    FIELD("nccl", "disk_bytes", JOBCONF_U64, disk_bytes, 0, NULL),
    FIELD("nccl", "planned_ops", JOBCONF_U64, planned_ops, 0, NULL),
    FIELD("nccl", "kept_ops", JOBCONF_U64, kept_ops, 0, NULL),
    STRING("nccl", "lost", lost, ""),
    STRING("nccl", "container_binds", container_binds, ""),
    STRING("nccl", "container_paths", container_paths, ""),
    STRING("nccl", "container_note", container_note, ""),
    FIELD("nccl", "summary", JOBCONF_SUMMARY, summary, JP_SUMMARY_AUTO, NULL),
    STRING("copper", "request", copper_request, "off"),
    STRING("util", "request", util_request, "off"),
    POLICY(finish_limit_ms, JP_DEF_FINISH_LIMIT_MS),
    POLICY(alldone_wait_ms, JP_DEF_ALLDONE_WAIT_MS),
    POLICY(report_limit_ms, JP_DEF_REPORT_LIMIT_MS),
    POLICY(report_threads, JP_DEF_REPORT_THREADS),
    POLICY(report_nice, JP_DEF_REPORT_NICE),
    POLICY(claim_stale_ms, JP_DEF_CLAIM_STALE_MS),
    POLICY(watcher_delay_ms, JP_DEF_WATCHER_DELAY_MS),
    POLICY(watcher_life_ms, JP_DEF_WATCHER_LIFE_MS),
    POLICY(util_period_ms, JP_DEF_UTIL_PERIOD_MS),
    POLICY(util_disk_mib, JP_DEF_UTIL_DISK_MIB),
};
const size_t jobconf_n_fields = sizeof(jobconf_fields) /
                                sizeof(*jobconf_fields);

const char *const jobconf_summary_words[4] = {"auto", "off", "line", "card"};
