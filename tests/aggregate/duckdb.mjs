// duckdb.mjs FOLDER ENDING THREADS OUT: what the join does, by DuckDB: read the
// lines, join the ranks, percentiles of cells, both tables as CSV. Run where
// @duckdb/node-api can be resolved.
import { createRequire } from "module";

const [folder, ending, threads, out] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(process.cwd() + "/")("@duckdb/node-api");
const db = await (await DuckDBInstance.create(":memory:")).connect();
await db.run(`SET threads = ${Number(threads)}`);
await db.run(`CREATE TABLE ops AS
    SELECT header.id AS id, any_value(header.n_ranks) AS n_ranks,
        any_value(header.nnodes) AS nnodes, coll_perf.coll AS coll,
        coll_perf.coll_sn AS sn, coll_perf.coll_msg_size_bytes AS bytes,
        count(*) AS n, avg(coll_perf.coll_busbw_gbs) AS busbw,
        min(coll_perf.coll_exec_time_us) AS exec_min,
        max(coll_perf.coll_exec_time_us) AS exec_max,
        min(metadata.dump_timestamp_us) AS dump_min,
        max(metadata.dump_timestamp_us) AS dump_max
    FROM read_json('${folder}/*${ending}', format = 'newline_delimited', columns = {
        header: 'STRUCT(id VARCHAR, rank INTEGER, n_ranks INTEGER, nnodes INTEGER)',
        metadata: 'STRUCT(dump_timestamp_us UBIGINT, hostname VARCHAR, pid BIGINT)',
        coll_perf: 'STRUCT(coll VARCHAR, coll_sn UBIGINT, coll_msg_size_bytes UBIGINT, coll_exec_time_us UBIGINT, coll_busbw_gbs DOUBLE)'})
    GROUP BY header.id, coll_perf.coll, coll_perf.coll_sn,
        coll_perf.coll_msg_size_bytes`);
await db.run(`COPY (SELECT n_ranks > 1 AND nnodes = 1 AS nvlink, nnodes = n_ranks AS hca,
        coll, bytes, count(*) AS ops, avg(busbw) AS mean, min(busbw) AS least,
        quantile_cont(busbw, [0.5, 0.95, 0.99]) AS quantiles, max(busbw) AS most
    FROM ops GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4) TO '${out}/cells.csv'`);
await db.run(`COPY ops TO '${out}/ops.csv'`);
