/* netkey_json.h - a network cell's key and distributions as JSON, both ways:
 * in summary.json and in baselines.
 */
#ifndef JP_REPORT_NETKEY_JSON_H
#define JP_REPORT_NETKEY_JSON_H

#include "orchestrator/insight/netcells.h"
#include "orchestrator/report/json_out.h"

/* fabric, inter, comm_type, n_ranks, n_hosts, gpu, coll, size_from_bytes,
 * size_to_bytes. */
void netkey_put(struct jp_json *json, json_t *row, const struct jp_netkey *key);
/* p5, p50, p95; null where there is none. */
void netkey_put_quantiles(struct jp_json *json, json_t *row, const char *name,
                          const struct jp_bwhist *hist);
/* [[bucket, count], ...] */
void netkey_put_hist(struct jp_json *json, json_t *row, const char *name,
                     const struct jp_bwhist *hist);

/* From foreign JSON; -1 and err names the key. *key, *hist (empty before; fini
 * in any case) as far as they were read. */
int netkey_read(const json_t *row, struct jp_netkey *key, struct jp_error *err);
int netkey_read_hist(const json_t *row, const char *name,
                     struct jp_bwhist *hist, struct jp_error *err);

#endif
