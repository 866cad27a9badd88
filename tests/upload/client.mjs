// client.mjs URL FILE: sends FILE's lines by the official client of Elasticsearch:
// the reference of the wire form. Run where the package can be resolved.
import { createRequire } from "module";
import { readFileSync } from "fs";

const [node, file] = process.argv.slice(2);
const { Client } = createRequire(process.cwd() + "/")("@elastic/elasticsearch");
const client = new Client({ node, compression: true });
const operations = readFileSync(file, "utf8").trim().split("\n").map((l) => JSON.parse(l));
const answer = await client.bulk({ operations });
console.log(`${answer.items.length} items, errors ${answer.errors}`);
process.exit(answer.errors ? 1 : 0);
