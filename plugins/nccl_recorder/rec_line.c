/* One finished operation as a line of Inspector's format v4.0. */
#include "plugins/nccl_recorder/rec_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nccl_recorder/rec_comm.h"

#ifndef JP_RECORDER_VERSION
#define JP_RECORDER_VERSION "unknown"
#endif

/* Inspector's buffer for one escaped string. */
enum { ESCAPED_BYTES = 2048 };

static const char *const source_names[] = {
    [JP_REC_KERNEL_GPU] = "kernel_gpu",
    [JP_REC_KERNEL_CPU] = "kernel_cpu",
    [JP_REC_COLLECTIVE_CPU] = "collective_cpu",
};

/* Length of the UTF-8 character at `s`, 0 where there is none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n, i;

    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xC2 && s[0] <= 0xDF)
        n = 2;
    else if (s[0] >= 0xE0 && s[0] <= 0xEF)
        n = 3;
    else if (s[0] >= 0xF0 && s[0] <= 0xF4)
        n = 4;
    else
        return 0;
    for (i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    }
    /* overlong forms, surrogates and what lies beyond U+10FFFF */
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return n;
}

/* The character after the backslash, or 0 where none is needed. */
static char escape_of(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return (char) c;
    case '\t':
        return 't';
    case '\n':
        return 'n';
    default:
        return 0;
    }
}

size_t rec_line_escape(char *out, size_t size, const char *text)
{
    const unsigned char *s = (const unsigned char *) text;
    size_t used = 0;

    while (*s) {
        size_t n = utf8_length(s);
        char e = escape_of(*s);
        size_t need = e ? 2 : n ? n : 1;

        if (used + need >= size)
            break;
        if (e) {
            out[used] = '\\';
            out[used + 1] = e;
        } else if (n == 0 || *s < 0x20) {
            out[used] = '?';
        } else {
            memcpy(out + used, s, n);
        }
        used += need;
        s += n ? n : 1;
    }
    out[used] = '\0';
    return used;
}

char *rec_line_header(const struct jp_rec_comm_facts *facts)
{
    char id[JP_REC_ID_BYTES];
    char name[ESCAPED_BYTES];
    char *header = NULL;
    int n;

    rec_comm_id(facts->hash, id);
    rec_line_escape(name, sizeof(name),
                    facts->name && facts->name[0] ? facts->name : "unknown");
    n = asprintf(&header,
                 "\"header\":{\"id\":\"%s\",\"comm_name\":\"%s\","
                 "\"rank\":%d,\"n_ranks\":%d,\"nnodes\":%d}",
                 id, name, facts->rank, facts->n_ranks, facts->n_nodes);
    return n < 0 ? NULL : header;
}

static int format_perf(char *out, size_t size, const struct jp_rec_record *r)
{
    double algobw, busbw;
    char peer[32] = "";
    const char *k = r->is_p2p ? "p2p" : "coll";

    rec_func_bandwidth(r->func, r->comm->n_ranks, r->bytes, r->exec_us, &algobw,
                       &busbw);
    if (r->is_p2p)
        snprintf(peer, sizeof(peer), "\"p2p_peer\":%d,", r->peer);
    return snprintf(out, size,
                    "\"%s_perf\":{\"%s\":\"%s\",\"%s_sn\":%" PRIu64 ",%s"
                    "\"%s_msg_size_bytes\":%" PRIu64 ","
                    "\"%s_exec_time_us\":%" PRIu64 ","
                    "\"%s_timing_source\":\"%s\","
                    "\"%s_algobw_gbs\":%lf,\"%s_busbw_gbs\":%lf}}\n",
                    k, k, rec_func_name(r->func), k, r->seq, peer, k, r->bytes,
                    k, r->exec_us, k, source_names[r->source], k, algobw, k,
                    busbw);
}

size_t rec_line_format(char *out, size_t size,
                       const struct jp_rec_process *process,
                       const struct jp_rec_record *record)
{
    char hostname[2 * sizeof(process->hostname)];
    int n;

    rec_line_escape(hostname, sizeof(hostname), process->hostname);
    n = snprintf(out, size,
                 "{%s,\"metadata\":{"
                 "\"inspector_output_format_version\":\"v4.0\","
                 "\"git_rev\":\"jobprof-" JP_RECORDER_VERSION "\","
                 "\"rec_mechanism\":\"nccl_profiler_interface\","
                 "\"dump_timestamp_us\":%" PRIu64 ","
                 "\"hostname\":\"%s\",\"pid\":%d},",
                 record->comm->header, record->done_us, hostname,
                 (int) process->pid);
    n += format_perf(out + n, size - (size_t) n, record);
    return (size_t) n;
}
