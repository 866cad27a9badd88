// exporter.mjs PARQUET_FILES LOGS: the query of NCCL Inspector's exporter gives
// the same over parquet_files/ as over the logs themselves.
import { createRequire } from "module";

const [files, logs] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(process.cwd() + "/")("@duckdb/node-api");
const db = await (await DuckDBInstance.create(":memory:")).connect();
const query = (from) => `SELECT id, comm_type, coll, coll_sn, coll_msg_size_bytes,
    round(avg(coll_busbw_gbs), 6) AS mean_coll_busbw_gbs, count(*) AS log_count,
    min(n_ranks) AS n_ranks, min(nnodes) AS nnodes, count(DISTINCT hostname || pid),
    sum(rank), max(coll_exec_time_us), min(dump_timestamp_us), max(dump_timestamp_us),
    list(DISTINCT coll_timing_source), round(sum(coll_algobw_gbs), 4),
    list(DISTINCT inspector_output_format_version || ' ' || git_rev || ' ' || rec_mechanism)
    FROM ${from} GROUP BY ALL`;
await db.run(`CREATE VIEW parquet AS SELECT * FROM read_parquet('${files}/*.parquet')`);
await db.run(`CREATE VIEW json AS SELECT header.id AS id, header.rank AS rank,
        header.n_ranks AS n_ranks, header.nnodes AS nnodes,
        CASE WHEN header.n_ranks = 1 THEN 'single-rank' WHEN header.nnodes = 1 THEN
            'nvlink-only' WHEN header.n_ranks = header.nnodes THEN 'hca-only'
            ELSE 'mixed' END AS comm_type,
        coll_perf.coll AS coll, coll_perf.coll_sn AS coll_sn,
        coll_perf.coll_msg_size_bytes AS coll_msg_size_bytes,
        coll_perf.coll_exec_time_us AS coll_exec_time_us,
        coll_perf.coll_busbw_gbs AS coll_busbw_gbs,
        coll_perf.coll_timing_source AS coll_timing_source,
        coll_perf.coll_algobw_gbs AS coll_algobw_gbs,
        metadata.inspector_output_format_version AS inspector_output_format_version,
        metadata.git_rev AS git_rev, metadata.rec_mechanism AS rec_mechanism,
        metadata.dump_timestamp_us AS dump_timestamp_us,
        metadata.hostname AS hostname, metadata.pid AS pid
    FROM read_json('${logs}/*.log', format = 'newline_delimited', columns = {
        header: 'STRUCT(id VARCHAR, rank INTEGER, n_ranks INTEGER, nnodes INTEGER)',
        metadata: 'STRUCT(dump_timestamp_us BIGINT, inspector_output_format_version VARCHAR, git_rev VARCHAR, rec_mechanism VARCHAR, hostname VARCHAR, pid BIGINT)',
        coll_perf: 'STRUCT(coll VARCHAR, coll_sn BIGINT, coll_msg_size_bytes BIGINT, coll_exec_time_us BIGINT, coll_busbw_gbs DOUBLE, coll_timing_source VARCHAR, coll_algobw_gbs DOUBLE)'})`);
const rows = async (sql) => (await (await db.run(sql)).getRows());
const [[parquet, json, differ]] = await rows(`SELECT (SELECT count(*) FROM parquet),
    (SELECT count(*) FROM json), (SELECT count(*) FROM
        ((${query("parquet")} EXCEPT ${query("json")}) UNION ALL
         (${query("json")} EXCEPT ${query("parquet")})))`);
console.log(`${parquet} records of ${json}; ${differ} groups differ`);
if (Number(differ))
    console.log(await rows(`${query("parquet")} EXCEPT ${query("json")} LIMIT 3`),
        await rows(`${query("json")} EXCEPT ${query("parquet")} LIMIT 3`));
process.exit(Number(parquet) > 0 && parquet === json && !Number(differ) ? 0 : 1);
