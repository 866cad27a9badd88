// duckdb_equal.mjs LOGS CSV [THREADS]: asks DuckDB for every figure of CSV/*.csv
// over the logs below LOGS and compares: integers and texts exactly, reals within
// 1e-9 of their size. A line a table, and the first rows that differ; exit
// status 1 where any does. Run where @duckdb/node-api can be resolved.
//
// LOGS hold whole records of NCCL 2.27 and later, each once; a line that is no
// record is passed over.
import { createRequire } from "module";

const [logs, csv, threads] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(process.cwd() + "/")("@duckdb/node-api");
const db = await (await DuckDBInstance.create(":memory:")).connect();
await db.run(`SET threads = ${Number(threads || 2)}`);

// Records; "unknown" is no name, a time of 0 is no time.
await db.run(`CREATE TABLE records AS
    SELECT header.id AS id, header.n_ranks AS n_ranks, header.nnodes AS nnodes,
        header.rank AS rank, metadata.hostname AS host, metadata.pid AS pid,
        nullif(header.comm_name, 'unknown') AS name,
        metadata.dump_timestamp_us AS dump, coll_perf.coll AS coll,
        coll_perf.coll_sn AS sn, coll_perf.coll_msg_size_bytes AS bytes,
        nullif(coll_perf.coll_exec_time_us, 0) AS exec,
        coll_perf.coll_busbw_gbs AS busbw, p2p_perf AS p2p
    FROM read_json('${logs}/**/*.log',
        format = 'newline_delimited', ignore_errors = true, columns = {
        header: 'STRUCT(id VARCHAR, comm_name VARCHAR, rank INTEGER, n_ranks INTEGER, nnodes INTEGER)',
        metadata: 'STRUCT(dump_timestamp_us UBIGINT, hostname VARCHAR, pid BIGINT)',
        coll_perf: 'STRUCT(coll VARCHAR, coll_sn UBIGINT, coll_msg_size_bytes UBIGINT, coll_exec_time_us UBIGINT, coll_busbw_gbs DOUBLE)',
        p2p_perf: 'STRUCT(p2p VARCHAR, p2p_peer INTEGER, p2p_msg_size_bytes UBIGINT, p2p_exec_time_us UBIGINT, p2p_busbw_gbs DOUBLE)'})
    WHERE coll_perf IS NOT NULL OR p2p_perf IS NOT NULL`);
await db.run(`CREATE TABLE comms AS
    SELECT *, row_number() OVER () AS comm,
        CASE WHEN n_ranks = 1 THEN 'single-rank' WHEN nnodes = 1 THEN 'nvlink-only'
            WHEN nnodes = n_ranks THEN 'hca-only' ELSE 'mixed' END AS comm_type
    FROM (SELECT id, n_ranks, nnodes, min(name) AS name,
            count(DISTINCT rank) AS ranks_seen, count(DISTINCT host) AS n_hosts,
            count(coll) AS records, count(p2p) AS p2p_records
        FROM records GROUP BY id, n_ranks, nnodes)`);
await db.run(`CREATE TABLE colls AS
    SELECT comm, rank, dump, coll, sn, bytes, exec, busbw
    FROM records JOIN comms USING (id, n_ranks, nnodes) WHERE coll IS NOT NULL`);
await db.run(`CREATE TABLE ops AS
    SELECT comm, coll, sn, bytes, count(*) AS records, avg(busbw) AS mean,
        min(busbw) AS least, max(busbw) AS most, min(exec) AS exec_min_us,
        max(exec) AS exec_max_us, avg(exec) AS exec_mean_us,
        list_sort(list(exec))[2] AS exec_second_us,
        min(dump) AS dump_min_us, max(dump) AS dump_max_us,
        CASE WHEN count(exec) = count(*) AND (count(*) = 1 OR
            list_sort(list(exec))[2] > min(exec)) THEN arg_min(rank, exec) END AS last_rank,
        sum(exec) - count(*) * min(exec) AS waited, count(exec) = count(*) AS timed
    FROM colls GROUP BY comm, coll, sn, bytes`);
// What tells waits: complete, one size a number, of functions in which all wait.
await db.run(`CREATE TABLE timed AS
    SELECT ops.* FROM ops JOIN comms USING (comm)
    WHERE n_ranks > 1 AND ops.records = n_ranks AND timed
        AND coll IN ('AllReduce', 'AllGather', 'ReduceScatter')
        AND (comm, coll, sn) IN (SELECT (comm, coll, sn) FROM ops
            GROUP BY comm, coll, sn HAVING count(*) = 1)`);
await db.run(`CREATE TABLE pairs AS
    SELECT comm, CASE p2p.p2p WHEN 'Send' THEN rank ELSE p2p.p2p_peer END AS src,
        CASE p2p.p2p WHEN 'Send' THEN p2p.p2p_peer ELSE rank END AS dst,
        p2p.p2p AS func, count(*) AS count, sum(p2p.p2p_msg_size_bytes) AS bytes,
        sum(p2p.p2p_exec_time_us) AS exec_us, sum(p2p.p2p_busbw_gbs) AS busbw
    FROM records JOIN comms USING (id, n_ranks, nnodes)
    WHERE p2p IS NOT NULL GROUP BY 1, 2, 3, 4`);
await db.run(`CREATE TABLE members AS
    SELECT comm, rank, any_value(host) AS host, any_value(pid) AS pid,
        count(coll) AS records, count(p2p) AS p2p_records
    FROM records JOIN comms USING (id, n_ranks, nnodes) GROUP BY comm, rank`);

// The figures, by the columns of the CSV files.
const dist = (value, prefix, suffix, condition) =>
    `avg(${value}) ${condition} AS ${prefix}mean${suffix},` +
    [5, 50, 95, 99].map((p) =>
        `quantile_cont(${value}, ${p / 100}) ${condition} AS ${prefix}p${p}${suffix}`) +
    `, min(${value}) ${condition} AS ${prefix}min${suffix},
     max(${value}) ${condition} AS ${prefix}max${suffix}`;
const distNames = (prefix, suffix) => ["mean", "p5", "p50", "p95", "p99", "min", "max"]
    .map((name) => prefix + name + suffix);
const complete = `FILTER (WHERE ops.records = n_ranks AND n_ranks > 1
    AND coll IN ('AllReduce', 'AllGather', 'ReduceScatter'))`;
const tables = [
    { name: "ops", keys: ["comm", "n_ranks", "coll", "sn", "msg_size_bytes"],
      exact: ["comm_name", "records", "exec_min_us", "exec_max_us", "exec_second_us",
          "last_rank", "dump_min_us", "dump_max_us"],
      reals: ["mean", "min", "max", "exec_mean_us"],
      sql: `SELECT id AS comm, name AS comm_name, n_ranks, bytes AS msg_size_bytes,
          least AS min, most AS max, ops.* EXCLUDE (comm, bytes)
          FROM ops JOIN comms USING (comm)` },
    { name: "cells", keys: ["comm_type", "coll", "msg_size_bytes"],
      exact: ["ops", "records", "net_ops"],
      reals: [...distNames("", ""), "time_weighted", ...distNames("exec_", "_us"),
          ...distNames("net_", "")],
      sql: `SELECT comm_type, coll, bytes AS msg_size_bytes, count(*) AS ops,
          sum(ops.records) AS records, ${dist("mean", "", "", "")},
          ${dist("exec_max_us", "exec_", "_us", "")},
          ${dist("most", "net_", "", complete)}, count(*) ${complete} AS net_ops,
          sum(mean * exec_max_us) / sum(exec_max_us) AS time_weighted
          FROM ops JOIN comms USING (comm) GROUP BY ALL` },
    { name: "comms", keys: ["id", "n_ranks", "nnodes"],
      exact: ["name", "comm_type", "ranks_seen", "n_hosts", "ops", "ops_complete",
          "records", "bytes", "time_us", "p2p_records"], reals: [],
      sql: `SELECT id, n_ranks, nnodes, name, comm_type, ranks_seen, n_hosts,
          count(coll) AS ops, coalesce(sum((ops.records = n_ranks)::INTEGER), 0) AS ops_complete,
          comms.records, coalesce(sum(bytes), 0) AS bytes,
          coalesce(sum(exec_max_us), 0) AS time_us, p2p_records
          FROM comms LEFT JOIN ops USING (comm) GROUP BY ALL` },
    { name: "ranks", keys: ["comm", "rank"],
      exact: ["comm_name", "host", "pid", "records", "timed_ops", "last_ops",
          "exec_us", "wait_us", "caused_us", "p2p_records"], reals: ["last_share"],
      sql: `WITH own AS (SELECT comm, colls.rank, sum(exec) AS exec_us,
              sum(exec - exec_min_us) AS wait_us, count(*) AS timed_ops,
              count(*) FILTER (WHERE colls.rank = last_rank) AS last_ops,
              sum(waited) FILTER (WHERE colls.rank = last_rank) AS caused_us
              FROM colls JOIN timed USING (comm, coll, sn, bytes) GROUP BY comm, colls.rank)
          SELECT id AS comm, name AS comm_name, rank, host, pid, members.records,
          coalesce(timed_ops, 0) AS timed_ops, coalesce(last_ops, 0) AS last_ops,
          coalesce(last_ops / timed_ops, 0) AS last_share,
          coalesce(exec_us, 0) AS exec_us, coalesce(wait_us, 0) AS wait_us,
          coalesce(caused_us, 0) AS caused_us, members.p2p_records
          FROM members JOIN comms USING (comm) LEFT JOIN own USING (comm, rank)` },
    { name: "windows", keys: ["t0_us", "t1_us", "comm", "coll"],
      exact: ["comm_name", "ops", "bytes", "time_us"], reals: ["mean"],
      sql: `WITH span AS (SELECT min(dump_min_us) AS lo,
              max(dump_min_us) - min(dump_min_us) + 1 AS us,
              greatest(10, least(200, 50000 // count(DISTINCT (comm, coll)))) AS n FROM ops),
          cut AS (SELECT lo, us // n + (us % n > 0)::INTEGER AS width FROM span),
          slices AS (SELECT ops.*, lo, width, (dump_min_us - lo) // width AS slice
              FROM ops, cut)
          SELECT lo + slice * width AS t0_us, lo + (slice + 1) * width AS t1_us,
          id AS comm, name AS comm_name, coll, count(*) AS ops, sum(bytes) AS bytes,
          sum(exec_max_us) AS time_us, avg(mean) AS mean
          FROM slices JOIN comms USING (comm) GROUP BY ALL` },
    { name: "p2p", keys: ["comm", "src", "dst", "func"],
      exact: ["comm_name", "count", "bytes", "exec_us"], reals: ["mean"],
      sql: `SELECT id AS comm, name AS comm_name, src, dst, func, count, bytes,
          exec_us, busbw / count AS mean FROM pairs JOIN comms USING (comm)` },
    { name: "p2p_nodes", keys: ["src_host", "dst_host", "func"],
      exact: ["pairs", "count", "bytes", "exec_us"], reals: ["mean"],
      sql: `SELECT s.host AS src_host, d.host AS dst_host, func, count(*) AS pairs,
          sum(count) AS count, sum(bytes) AS bytes, sum(exec_us) AS exec_us,
          sum(busbw) / sum(count) AS mean FROM pairs
          LEFT JOIN members s ON s.comm = pairs.comm AND s.rank = src
          LEFT JOIN members d ON d.comm = pairs.comm AND d.rank = dst
          GROUP BY ALL` },
];

let differ = 0;
for (const { name, keys, exact, reals, sql } of tables) {
    await db.run(`CREATE TABLE want AS ${sql}`);
    await db.run(`CREATE TABLE got AS
        SELECT * FROM read_csv('${csv}/${name}.csv', header = true, all_varchar = true)`);
    // texts on both sides: an integer has one spelling
    const same = (k) => `w.${k}::VARCHAR IS NOT DISTINCT FROM g.${k}`;
    const close = (k) => `((w.${k} IS NULL AND g.${k} IS NULL) OR coalesce(
        abs(w.${k} - g.${k}::DOUBLE) <= 1e-9 * greatest(abs(w.${k}), abs(g.${k}::DOUBLE)), false))`;
    const rows = await db.runAndReadAll(`SELECT ${[...keys, ...exact, ...reals]
        .map((k) => `w.${k} AS w_${k}, g.${k} AS g_${k}`)}
        FROM want w FULL JOIN got g ON ${keys.map(same).join(" AND ")}
        WHERE NOT (${[...keys, ...exact].map(same).concat(reals.map(close)).join(" AND ")})
        LIMIT 3`);
    const count = async (what) =>
        Number((await db.runAndReadAll(`SELECT count(*) FROM ${what}`)).getRows()[0][0]);
    const wanted = await count("want"), got = await count("got");
    const bad = rows.getRowObjectsJson();
    console.log(`${name}: ${wanted} rows wanted, ${got} there, ${bad.length ? "DIFFERENT" : "equal"}`);
    for (const row of bad) {
        const keep = Object.entries(row).filter(([k, v]) =>
            keys.includes(k.slice(2)) ||
            String(v) !== String(row[(k[0] === "w" ? "g" : "w") + k.slice(1)]));
        console.log("  " + JSON.stringify(Object.fromEntries(keep)));
    }
    differ += bad.length > 0 || wanted !== got;
    await db.run("DROP TABLE want; DROP TABLE got");
}
process.exit(differ ? 1 : 0);
