/* trace_queue.c - a binary heap of events by start. */
#include "orchestrator/export/trace_queue.h"

#include <stdlib.h>

int trace_queue_init(struct trace_queue *queue)
{
    *queue = (struct trace_queue){
        .events = calloc(TRACE_QUEUE_EVENTS, sizeof(*queue->events))};
    return queue->events ? 0 : -1;
}

void trace_queue_fini(struct trace_queue *queue)
{
    for (size_t i = 0; i < queue->n; i++)
        free(queue->events[i].rest);
    free(queue->events);
    *queue = (struct trace_queue){0};
}

bool trace_queue_is_full(const struct trace_queue *queue)
{
    return queue->n == TRACE_QUEUE_EVENTS;
}

static bool is_before(const struct trace_event *a, const struct trace_event *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns
                                      : a->number < b->number;
}

void trace_queue_push(struct trace_queue *queue, struct trace_event event)
{
    struct trace_event *heap = queue->events;
    size_t i = queue->n++;

    event.number = queue->numbered++;
    while (i > 0 && is_before(&event, &heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = event;
}

struct trace_event trace_queue_pop(struct trace_queue *queue)
{
    struct trace_event *heap = queue->events, first = heap[0];
    struct trace_event last = heap[--queue->n];
    size_t i = 0, k;

    while ((k = 2 * i + 1) < queue->n) {
        if (k + 1 < queue->n && is_before(&heap[k + 1], &heap[k]))
            k++;
        if (!is_before(&heap[k], &last))
            break;
        heap[i] = heap[k];
        i = k;
    }
    heap[i] = last;
    return first;
}
