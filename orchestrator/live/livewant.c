/* livewant.c - read and renew live/live.want. */
#include "orchestrator/live/livewant.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "orchestrator/collect/stepdir.h"

/* Takes the next word off the line. Returns NULL if none is left. */
static char *take_word(char **rest)
{
    char *word = strsep(rest, " ");

    return word && *word ? word : NULL;
}

/* Takes the number of a hang or request off the line. Returns 0 if it is
 * missing or bad. */
static uint32_t take_number(char **rest)
{
    char *word = take_word(rest);
    uint64_t number;

    return word && num_parse_u64(word, 1, UINT32_MAX, &number, NULL) == 0
               ? (uint32_t) number
               : 0;
}

/* Takes a number within the bounds off the line. Returns false if it is missing
 * or bad. */
static bool take_int(char **rest, int64_t least, int64_t most, int64_t *out)
{
    char *word = take_word(rest);

    return word && num_parse_i64(word, least, most, out, NULL) == 0;
}

/* "0xHASH" */
static void take_comm(char *rest, struct livewant *out)
{
    char *word = take_word(&rest), *end;

    if (!word || strncmp(word, "0x", 2) != 0 ||
        out->n_hashes == LIVE_WANTED_MAX)
        return;
    errno = 0;
    out->hashes[out->n_hashes] = strtoull(word + 2, &end, 16);
    out->n_hashes += !*end && end > word + 2 && !errno;
}

/* "NAME N" */
static void take_signal(char *rest, struct livewant *out)
{
    char *name = take_word(&rest);
    uint32_t number = take_number(&rest);

    if (!name || !number || strlen(name) >= sizeof(out->signal))
        return;
    memcpy(out->signal, name, strlen(name) + 1);
    out->signal_number = number;
}

/* Reads "N NODE PID ROLE TASK RANK". Lines of other nodes and bad lines are
 * ignored. */
static void take_evidence(char *rest, const char *node, struct livewant *out)
{
    struct module_target *target = &out->targets[out->n_targets];
    uint32_t number = take_number(&rest);
    char *where = take_word(&rest), *role;
    int64_t pid, task, rank;

    if (!number || !where || strcmp(where, node) != 0 ||
        out->n_targets == LIVE_EVIDENCE_MAX ||
        !take_int(&rest, 2, INT32_MAX, &pid))
        return;
    role = take_word(&rest);
    if (!role || (strcmp(role, "missing") != 0 && strcmp(role, "waits") != 0) ||
        !take_int(&rest, -1, INT32_MAX, &task) ||
        !take_int(&rest, -1, INT32_MAX, &rank))
        return;
    *target = (struct module_target){
        .pid = pid, .task = task, .rank = rank, .missing = role[0] == 'm'};
    out->hang_number = number;
    out->n_targets++;
}

/* Lines are independent: a bad one is skipped. */
void livewant_parse(char *text, const char *node, struct livewant *out)
{
    char *line;

    *out = (struct livewant){.n_hashes = 0};
    while ((line = strsep(&text, "\n"))) {
        char *word = take_word(&line);

        if (!word || !line)
            continue;
        if (!strcmp(word, "comm"))
            take_comm(line, out);
        else if (!strcmp(word, "signal"))
            take_signal(line, out);
        else if (!strcmp(word, "evidence"))
            take_evidence(line, node, out);
        else if (!strcmp(word, "hang") && take_number(&line) && line)
            snprintf(out->hang, sizeof(out->hang), "%s", line);
    }
}

/* Sets the file's times to now, creating it if needed. Never follows a link or
 * blocks on a pipe. */
static int touch(const char *path, struct jp_error *err)
{
    int fd = ownplace_append(path, err), rc;

    if (fd < 0)
        return -1;
    rc = futimens(fd, NULL) == 0
             ? 0
             : error_set(err, "%s: %s", path, strerror(errno));
    close(fd);
    return rc;
}

/* The folder may not exist yet if no node has written a snapshot. */
int livewant_touch(const char *dir, struct jp_error *err)
{
    char *folder = text_format("%s/" LIVE_FOLDER, dir);
    char *path = text_format("%s/" LIVE_WANT, dir);
    int rc = -1;

    if (!folder || !path)
        error_set(err, "out of memory");
    else if (fileio_mkdir(folder, err) == 0)
        rc = touch(path, err);
    free(folder);
    free(path);
    return rc;
}
