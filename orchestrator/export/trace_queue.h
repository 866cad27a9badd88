/* trace_queue.h - events on their way into a trace, put in order of time.
 *
 * A recorder's file has operations in order of their ends; a viewer wants them
 * by their starts. A heap of TRACE_QUEUE_EVENTS gives the earliest once it is
 * full, so what is out of order by more than that stays so.
 */
#ifndef JP_EXPORT_TRACE_QUEUE_H
#define JP_EXPORT_TRACE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_QUEUE_EVENTS 32768

struct trace_event {
    int64_t start_ns, end_ns; /* since the trace's origin */
    uint64_t number;          /* order of arrival */
    uint32_t comm;            /* the file's index of the communicator */
    char *rest;               /* JSON behind "tid"; owned */
};

struct trace_queue {
    struct trace_event *events;
    size_t n;
    uint64_t numbered;
};

/* 0, or -1 without memory. */
int trace_queue_init(struct trace_queue *queue);
void trace_queue_fini(struct trace_queue *queue);
bool trace_queue_is_full(const struct trace_queue *queue);
/* Not while it is full. event->rest is taken over. */
void trace_queue_push(struct trace_queue *queue, struct trace_event event);
/* The earliest, whose rest becomes the caller's; not while n is 0. */
struct trace_event trace_queue_pop(struct trace_queue *queue);

#endif
