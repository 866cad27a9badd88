/* parquet_backend.c - the setting parquet=1 of a profiled step. It profiles
 * nothing; the report's format is orchestrator/parquet. */
#include "plugins/backend.h"

static const struct jp_knob knobs[] = {
    {JP_KNOB("parquet", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "also write the report's tables as Parquet files"),
     .place = JP_KNOB_OUTPUT},
    {0}};

extern const struct backend backend_parquet;
const struct backend backend_parquet = {
    .abi = BACKEND_ABI,
    .about = {.name = "parquet",
              .title = "Parquet",
              .option = OPTION_NCCL,
              .knobs = knobs},
};
