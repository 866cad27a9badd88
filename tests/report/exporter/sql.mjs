// sql.mjs - what DuckDB says about Inspector logs, as the exporter's tables.
//
// node sql.mjs MODULES LOGS SUMMARY OFFSET
// MODULES: the folder in which @duckdb/node-api was installed; LOGS: a folder
// of .log, .jsonl, .log.gz or .jsonl.gz; SUMMARY: what jobprof wrote; OFFSET:
// local time minus UTC in seconds. Compares every table of the functions that
// the exporter knows: all bytes, but for the mean, which may differ by 1e-12 of
// itself, as a floating sum depends on its order. Exit status 1: a difference.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

const [modules, logs, summary, offset] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, "index.js"));
const { DuckDBInstance } = require("@duckdb/node-api");

const header = "id,coll_sn,coll_msg_size_bytes,mean_coll_busbw_gbs,log_count," +
    "n_ranks,nnodes,coll_start_timestamp_us,coll_end_timestamp_us," +
    "coll_duration_us,human_readable_coll_msg_size_bytes," +
    "coll_start_datetime,coll_end_datetime,coll_duration_human";

// Lines that are JSON and have the three parts; NVIDIA's four types.
const view = (files) => `
create table logs as
select h->>'id' as id, (h->>'n_ranks')::bigint as n_ranks,
       (h->>'nnodes')::bigint as nnodes, p->>'coll' as coll,
       (p->>'coll_sn')::bigint as coll_sn,
       (p->>'coll_msg_size_bytes')::bigint as bytes,
       (p->>'coll_busbw_gbs')::double as gbs,
       (m->>'dump_timestamp_us')::bigint as us,
       case when n_ranks = 1 then 'single-rank'
            when nnodes = 1 then 'nvlink-only'
            when n_ranks = nnodes then 'hca-only' else 'mixed' end as type
from (select json->'header' as h, json->'metadata' as m, json->'coll_perf' as p
      from (select try_cast(line as json) as json
            from read_csv([${files.map((f) => `'${f}'`)}], header = false,
                columns = {'line': 'varchar'}, delim = '\\x01', quote = '',
                escape = '', strict_mode = false, null_padding = true)))
where h is not null and m is not null and p is not null`;

// Python rounds the exact decimal value of x, ties to even: as DuckDB's format.
const power = "trunc(log10(bytes) / 3)::bigint";
const human = (x) => `case when bytes = 0 then '0B' else
    format('{:.2f}', ${x}) ||
    ['B', 'KB', 'MB', 'GB', 'TB', 'PB'][${power} + 1] end`;
const scaled = `(bytes * pow(10, -3 * ${power}))`;
const query = `
select type, coll, bytes, id, coll_sn, avg(gbs) as mean, count(*) as n,
       list_sort(list_distinct(list(n_ranks))) as ranks,
       list_sort(list_distinct(list(nnodes))) as nodes,
       min(us) as first, max(us) as last,
       ${human(scaled)} as size,
       ${human(`round_even(${scaled} * 100, 0) / 100`)} as folder,
       case when last - first < 1000
                then format('{:.1f}', (last - first)::double) || 'μs'
            when last - first < 1000000
                then format('{:.1f}', (last - first) / 1000) || 'ms'
            else format('{:.1f}', (last - first) / 1000000) || 's'
       end as duration
from logs
where coll in ('AllReduce', 'AllGather', 'ReduceScatter', 'Broadcast')
group by type, coll, bytes, id, coll_sn
order by type, coll, bytes, coll_sn, id`;

function filesBelow(dir) {
    return fs.readdirSync(dir, { withFileTypes: true }).flatMap((e) =>
        e.isDirectory() ? filesBelow(path.join(dir, e.name))
                        : [path.join(dir, e.name)]);
}

// As Python prints a double. Exponents have two digits there.
function real(x) {
    const text = Math.abs(x) < 1e-4 && x !== 0 ? x.toExponential() : String(x);
    return text.includes(".") || text.includes("e")
        ? text.replace(/e-(\d)$/, "e-0$1") : text + ".0";
}

function dateTime(us) {
    const ms = Number(us / 1000n) + 1000 * Number(offset);
    return new Date(ms).toISOString().replace("T", " ").replace("Z", "");
}

function lineOf(row, mean) {
    const list = (value) => `[${value.items.join(" ")}]`;
    return [row.id, row.coll_sn, row.bytes, mean, row.n, list(row.ranks),
        list(row.nodes), row.first, row.last, row.last - row.first, row.size,
        dateTime(row.first), dateTime(row.last), row.duration].join(",");
}

const connection = await (await DuckDBInstance.create(":memory:", {
    threads: "2", autoinstall_known_extensions: "false",
})).connect();
await connection.run(view(filesBelow(logs).filter((f) =>
    /\.(log|jsonl)(\.gz)?$/.test(f))));
const reader = await connection.runAndReadAll(query);
const names = reader.columnNames();
const want = new Map();
for (const values of reader.getRows()) {
    const row = Object.fromEntries(names.map((name, i) => [name, values[i]]));
    const file = `msg_size_${row.bytes}_${row.folder}/` +
        `summary_${row.type}_${row.coll}_${row.bytes}.csv`;
    if (!want.has(file))
        want.set(file, []);
    want.get(file).push(row);
}

let bad = 0, rows = 0;
const say = (what) => { if (bad++ < 10) console.log("# " + what); };
const known = /summary_[a-z-]+_(AllReduce|AllGather|ReduceScatter|Broadcast)_/;
for (const file of filesBelow(summary).filter((f) => known.test(f)))
    if (!want.has(path.relative(summary, file)))
        say(`${path.relative(summary, file)}: not in DuckDB's answer`);
for (const [file, list] of want) {
    const full = path.join(summary, file);
    if (!fs.existsSync(full)) {
        say(`${file}: missing`);
        continue;
    }
    const got = fs.readFileSync(full, "utf8").split("\n");
    if (got[0] !== header || got.length !== list.length + 2)
        say(`${file}: ${got.length - 2} rows, not ${list.length}, or columns`);
    list.forEach((row, i) => {
        const mean = (got[i + 1] ?? "").split(",")[3];
        const near = Math.abs(Number(mean) - row.mean) <= 1e-12 * row.mean;
        rows++;
        if (!near || real(Number(mean)) !== mean ||
            got[i + 1] !== lineOf(row, mean))
            say(`${file}:${i + 2}: ${got[i + 1]} is not ` +
                lineOf(row, real(row.mean)));
    });
}
console.log(`# ${want.size} tables, ${rows} rows, ${bad} differences`);
process.exit(bad || !rows ? 1 : 0);
