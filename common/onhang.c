/* onhang.c - the value of on_hang. */
#include "common/onhang.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/num.h"
#include "common/quote.h"

static const struct {
    const char *name;
    int number;
} signals[] = {{"HUP", SIGHUP},    {"INT", SIGINT},   {"QUIT", SIGQUIT},
               {"ABRT", SIGABRT},  {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
               {"ALRM", SIGALRM},  {"TERM", SIGTERM}, {"URG", SIGURG},
               {"WINCH", SIGWINCH}};

static int find_signal(const char *name, struct jp_onhang *out,
                       struct jp_error *err)
{
    if (!strncmp(name, "SIG", 3))
        name += 3;
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (!strcmp(signals[i].name, name)) {
            out->signal = signals[i].number;
            snprintf(out->name, sizeof(out->name), "%s", name);
            return 0;
        }
    return error_set(err,
                     "\"%s\" is not one of the signals HUP, INT, QUIT, ABRT, "
                     "USR1, USR2, ALRM, TERM, URG, WINCH",
                     QUOTE(name));
}

/* Printable ASCII: it stands in job.conf and in a shell's argument. */
static int take_command(const char *text, struct jp_onhang *out,
                        struct jp_error *err)
{
    size_t n = 0;

    while (text[n] >= ' ' && text[n] <= '~')
        n++;
    if (text[n] || n >= sizeof(out->command))
        return error_set(err, "\"%s\" is not 1 to 255 characters of ASCII",
                         QUOTE(text));
    memcpy(out->command, text, n + 1);
    return 0;
}

int onhang_parse(const char *text, const char *after, struct jp_onhang *out,
                 struct jp_error *err)
{
    struct jp_onhang got = {.kind = ONHANG_REPORT};
    uint64_t us = 0;

    if (!strcmp(text, "off")) {
        got.kind = ONHANG_OFF;
    } else if (!strncmp(text, "signal:", 7)) {
        got.kind = ONHANG_SIGNAL;
        if (find_signal(text + 7, &got, err) < 0)
            return -1;
    } else if (!strcmp(text, "cancel")) {
        got.kind = ONHANG_CANCEL;
        got.after_ms = ONHANG_CANCEL_AFTER_MS;
    } else if (text[0] == '/') {
        got.kind = ONHANG_COMMAND;
        if (take_command(text, &got, err) < 0)
            return -1;
    } else if (strcmp(text, "report") != 0) {
        return error_set(err, "\"%s\" is not one of " ONHANG_RANGE,
                         QUOTE(text));
    }
    if (after && num_parse_time_us(after, 0, UINT64_MAX, &us, err) < 0)
        return -1;
    if (after)
        got.after_ms = us / 1000;
    *out = got;
    return 0;
}
