/* rec_abi_both.h - startEvent of one interface, for the recorder alone or with
 * a chained library.
 *
 * rec_abi_old.h and rec_abi_new.h include this file, with VERSION, DESCR and
 * CAPTURED(d) defined: whether an event is of a call that a graph captures.
 */

/* Passes an event on to both, each with its own handles. */
static void NAME(start_both)(void *context, void **handle,
                             const struct DESCR *d)
{
    const struct jp_rec_pair comm = rec_chain_find_comm(context);
    const struct jp_rec_pair parent =
        d->type == JP_NCCL_PROXY_OP
            ? rec_chain_find_of(d->parent, d->proxy_op.pid)
            : rec_chain_find(d->parent);
    struct DESCR copy = *d;
    void *ours = NULL, *theirs = NULL;
    uint32_t place = 0;
#if VERSION >= 5
    void **of_group = d->type == JP_NCCL_COLL  ? &copy.coll.parent_group
                      : d->type == JP_NCCL_P2P ? &copy.p2p.parent_group
                                               : NULL;
    const struct jp_rec_pair group =
        rec_chain_find(of_group ? *of_group : NULL);
#endif

    rec_chain_follow();
    if (rec_chain_wants(jp_rec_masks.ours, d->type)) {
        struct jp_rec_timer timer = rec_cost_begin();

        copy.parent = parent.ours;
#if VERSION >= 5
        if (of_group)
            *of_group = group.ours;
#endif
        NAME(start_event)(timer.thread, comm.ours, &ours, &copy);
        rec_cost_end(&timer);
    }
    /* before 2.28 NCCL reports neither an operation nor a network transfer
     * whose parent has no handle */
    if (comm.theirs && rec_chain_wants(jp_rec_masks.theirs, d->type) &&
        (VERSION >= 5 || parent.theirs ||
         !(d->type & (JP_NCCL_COLL | JP_NCCL_P2P | JP_NCCL_PROXY_STEP))))
        place = rec_chain_take();
    if (place) {
        copy.parent = parent.theirs;
#if VERSION >= 5
        if (of_group)
            *of_group = group.theirs;
#endif
        theirs = rec_chain_start(VERSION, comm.theirs, &copy, d->type);
    }
    *handle =
        rec_chain_join(place, ours, theirs, life_of(d->type, CAPTURED(d)));
}

static int NAME(start)(void *context, void **handle, struct DESCR *d)
{
    struct jp_rec_timer timer;

    if (__builtin_expect(rec_chain_is_on(), 0)) {
        NAME(start_both)(context, handle, d);
        return JP_NCCL_SUCCESS;
    }
    timer = rec_cost_begin();
    NAME(start_event)(timer.thread, context, handle, d);
    rec_cost_end(&timer);
    return JP_NCCL_SUCCESS;
}
