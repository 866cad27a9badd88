/* netnames.c - name kinds of communicators. */
#include "orchestrator/report/netnames.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/insight/sentence.h"

static bool is_told(const char *word)
{
    return strcmp(word, "unknown") && strcmp(word, "none");
}

char *netnames_link(const struct jp_netkey *key, char *buf)
{
    bool fabric = is_told(key->fabric), inter = is_told(key->inter);

    if (fabric || inter)
        snprintf(buf, NETNAMES_LEN, "%s%s%s", fabric ? key->fabric : "",
                 fabric && inter ? ", " : "", inter ? key->inter : "");
    else
        snprintf(buf, NETNAMES_LEN, "%s", comm_type_name(key->type));
    return buf;
}

char *netnames_shape(const struct jp_netkey *key, char *buf)
{
    snprintf(buf, NETNAMES_LEN, "%" PRIu32 " rank%s on %" PRIu32 " node%s",
             key->n_ranks, sentence_s(key->n_ranks), key->n_hosts,
             sentence_s(key->n_hosts));
    return buf;
}

char *netnames_series(const struct jp_netkey *key, char *buf)
{
    char link[NETNAMES_LEN], shape[NETNAMES_LEN];

    snprintf(buf, NETNAMES_LEN, "%.31s, %.40s, %.60s", key->coll,
             netnames_link(key, link), netnames_shape(key, shape));
    return buf;
}

char *netnames_kind(const struct jp_netkey *key, char *buf)
{
    char link[NETNAMES_LEN];

    snprintf(buf, NETNAMES_LEN, "%.40s, %" PRIu32 "r/%" PRIu32 "n",
             netnames_link(key, link), key->n_ranks, key->n_hosts);
    return buf;
}
