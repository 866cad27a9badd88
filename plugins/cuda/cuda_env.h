/* cuda_env.h - what resolve tells the library in the tasks. */
#ifndef JP_CUDA_ENV_H
#define JP_CUDA_ENV_H

/* CUDA's driver loads this library in cuInit() and calls its
 * InitializeInjection(). */
#define CUDA_ENV_LIBRARY "CUDA_INJECTION64_PATH"
#define CUDA_LIBRARY_NAME "libjobprof-cuda.so"
/* The folder of the processes' files on this node; not set: no counters. */
#define CUDA_ENV_DIR "JOBPROF_CUDA_DIR"
/* Of the step: raw/<node>/cuda/ */
#define CUDA_DIR "cuda"
#define CUDA_FILE_END ".jpc"

#endif
