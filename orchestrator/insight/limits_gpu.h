/* limits_gpu.h - rows of limits_table: what a step's GPUs do, by exports of
 * Nsight Systems. For limits.c only.
 */
/* clang-format off */
    [JP_LIMIT_GPU_EVENTS] =
        {"gpu_events_min", 1000, JP_LIMIT_IS_NUMBER,
         "gpu_idle and small_kernels where gaps, or kernels, of that kind are "
         "no fewer",
         "a test of some kernels says nothing of a run"},
    [JP_LIMIT_GPU_SHORT_GAP] =
        {"gpu_short_gap_max", 100, JP_LIMIT_IS_US,
         "A gap between a GPU's activities is one of launching where it is no "
         "longer",
         "a launch takes 5 to 20 us of its thread; longer gaps are input, "
         "other ranks, or Python"},
    [JP_LIMIT_GPU_IDLE] =
        {"gpu_idle_min", 0.2, JP_LIMIT_IS_SHARE,
         "gpu_idle where these gaps take no smaller share of the GPUs' time",
         "CUDA graphs and fusion win about that back; less is not worth the "
         "work"},
    [JP_LIMIT_GPU_SMALL_KERNEL] =
        {"gpu_small_kernel_max", 10, JP_LIMIT_IS_US,
         "A kernel is small where it takes less",
         "to launch one takes about as long"},
    [JP_LIMIT_GPU_SMALL_SHARE] =
        {"gpu_small_kernels_min", 0.2, JP_LIMIT_IS_SHARE,
         "small_kernels where these take no smaller share of the kernels' time",
         "models of large matrices have some per cent of it"},
    [JP_LIMIT_GPU_COPIES] =
        {"gpu_copies_min", 0.05, JP_LIMIT_IS_SHARE,
         "pageable_copies and sync_copies where they take no smaller share of "
         "the GPUs' time",
         "input that is prefetched hides less than that"},
    [JP_LIMIT_GPU_COPY_EVENTS] =
        {"gpu_copies", 20, JP_LIMIT_IS_NUMBER,
         "... and are no fewer",
         "a model is loaded once by some copies"},
    [JP_LIMIT_GPU_ALLOCATION] =
        {"gpu_allocation_min", 0.01, JP_LIMIT_IS_SHARE,
         "late_allocations where calls for memory in the second half of the "
         "kernels' time take no smaller share of it",
         "cudaMalloc and cudaFree wait for the GPU, so that their time is "
         "lost, and a caching allocator has none by then"},
    [JP_LIMIT_GPU_ALLOCATIONS] =
        {"gpu_allocations", 20, JP_LIMIT_IS_NUMBER,
         "... and are no fewer",
         "some buffers are made late for good reasons"},
    [JP_LIMIT_GPU_IMBALANCE] =
        {"gpu_imbalance_min", 1.3, JP_LIMIT_IS_NUMBER,
         "gpu_imbalance where a rank's kernels, without NCCL's, take no fewer "
         "times the mean of all ranks",
         "a third more work is the pace of all"},
    /* clang-format on */
