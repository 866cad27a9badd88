// equal.mjs READER FOLDER...: every column of every file of FOLDER/parquet equals
// that of the CSV file of its name in FOLDER/csv, as READER (duckdb, hyparquet,
// parquet-wasm) reads it. Run where the packages can be resolved; to load a reader
// takes longer than most files. A line a file that differs, then one a folder: "FOLDER
// equal" or "FOLDER DIFFERENT", which it also is without a file.
import { createRequire } from "module";
import { readFileSync, readdirSync, existsSync } from "fs";
import { pathToFileURL } from "url";

const [reader, ...folders] = process.argv.slice(2);
const here = createRequire(process.cwd() + "/");
const load = (name) => import(pathToFileURL(here.resolve(name)));

function readCsv(path) {
    const text = readFileSync(path, "utf8"), rows = [];
    let row = [], cell = "", quoted = false;
    for (let i = 0; i < text.length; i++) {
        const c = text[i];
        if (quoted && c === '"' && text[i + 1] === '"') {
            cell += '"';
            i++;
        } else if (c === '"') quoted = !quoted;
        else if (!quoted && (c === "," || c === "\n")) {
            row.push(cell);
            cell = "";
            if (c === "\n") {
                rows.push(row);
                row = [];
            }
        } else cell += c;
    }
    const names = rows.shift();
    return { names, columns: names.map((_, k) => rows.map((r) => r[k])) };
}

// Columns of values: null, text, boolean, number, and bigint for whole numbers
// (times: microseconds).
const readers = {
    async duckdb(path) {
        const { DuckDBInstance } = here("@duckdb/node-api");
        const db = await (await DuckDBInstance.create(":memory:")).connect();
        const about = await (await db.run(
            `DESCRIBE SELECT * FROM '${path}'`)).getRowsJson();
        const names = about.map((r) => r[0]);
        const picks = about.map(([name, type]) =>
            type.startsWith("TIMESTAMP") ? `epoch_us("${name}")` : `"${name}"`);
        const result = await (await db.run(
            `SELECT ${picks.join(", ")} FROM '${path}'`)).getColumns();
        // the statistics must let no row be skipped
        for (const [k, name] of names.entries()) {
            const values = (result[k] ?? []).filter((v) => v !== null);
            if (!values.length || typeof values[0] === "boolean") continue;
            const low = values.reduce((a, b) => (b < a ? b : a));
            const type = about[k][1];
            const text = `'${String(low).replaceAll("'", "''")}'`;
            const left = type.startsWith("TIMESTAMP")
                ? `"${name}" = make_timestamptz(${text}::BIGINT)`
                : `"${name}" = ${text}::${type}`;
            const [[n]] = await (await db.run(
                `SELECT count(*) FROM '${path}' WHERE ${left}`)).getRows();
            if (Number(n) !== values.filter((v) => v === low).length)
                throw new Error(`${name}: a search for ${text} finds ${n}`);
        }
        return { names, columns: names.map((_, k) => result[k] ?? []) };
    },
    async hyparquet(path) {
        const { parquetReadObjects, parquetSchema, parquetMetadata } =
            await load("hyparquet");
        const { compressors } = await load("hyparquet-compressors");
        const { DEFAULT_PARSERS } = await import(new URL("convert.js",
            pathToFileURL(here.resolve("hyparquet"))));
        const bytes = readFileSync(path);
        const file = bytes.buffer.slice(bytes.byteOffset,
            bytes.byteOffset + bytes.length);
        const names = parquetSchema(parquetMetadata(file)).children
            .map((c) => c.element.name);
        const rows = await parquetReadObjects({ file, compressors,
            parsers: { ...DEFAULT_PARSERS,
                timestampFromMicroseconds: (us) => us } });
        return { names, columns: names.map((n) => rows.map((r) => r[n] ?? null)) };
    },
    async "parquet-wasm"(path) {
        const { readParquet } = here("parquet-wasm");
        const { tableFromIPC } = here("apache-arrow");
        const table = tableFromIPC(readParquet(
            new Uint8Array(readFileSync(path))).intoIPCStream());
        const names = table.schema.fields.map((f) => f.name);
        const columns = table.schema.fields.map((f, k) => {
            const vector = table.getChildAt(k);
            if (!String(f.type).startsWith("Timestamp"))
                return [...(vector ?? [])];
            return vector.data.flatMap((d) => [...d.values.slice(0, d.length)]
                .map((v, i) => (d.getValid(i) ? v : null)));
        });
        return { names, columns };
    },
};

const same = (csv, value) => {
    if (value === null || value === undefined) return csv === "";
    if (typeof value === "boolean") return csv === (value ? "yes" : "no");
    if (typeof value === "bigint") return csv === String(value);
    if (typeof value === "number") return csv !== "" && Number(csv) === value;
    return csv === value;
};

async function troubleOf(csvPath, parquetPath) {
    let trouble = existsSync(csvPath) ? "" : "no such CSV file";
    let rows = 0;
    try {
        const csv = trouble ? null : readCsv(csvPath);
        const got = trouble ? null : await readers[reader](parquetPath);
        if (csv && csv.names.join() !== got.names.join())
            trouble = `columns ${got.names}`;
        for (let k = 0; csv && !trouble && k < csv.names.length; k++) {
            rows = csv.columns[k].length;
            if (got.columns[k].length !== rows)
                trouble = `${csv.names[k]}: ${got.columns[k].length} of ${rows} rows`;
            for (let i = 0; !trouble && i < rows; i++)
                if (!same(csv.columns[k][i], got.columns[k][i]))
                    trouble = `${csv.names[k]}, row ${i + 1}: ` +
                        `"${csv.columns[k][i]}" is ${got.columns[k][i]}`;
        }
    } catch (error) {
        trouble = error.message ?? String(error);
    }
    return trouble;
}

for (const folder of folders) {
    let bad = 0, files = 0;
    const names = existsSync(`${folder}/parquet`) ? readdirSync(`${folder}/parquet`).sort() : [];
    for (const name of names) {
        if (!name.endsWith(".parquet")) continue;
        const trouble = await troubleOf(`${folder}/csv/${name.replace(".parquet", ".csv")}`,
            `${folder}/parquet/${name}`);
        files++;
        if (trouble) bad++;
        if (trouble) console.log(`# ${name}: ${trouble}`);
    }
    console.log(`${folder} ${bad || !files ? "DIFFERENT" : "equal"}`);
}
process.exit(0);
