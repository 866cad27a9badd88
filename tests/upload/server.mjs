// server.mjs FOLDER [tls]: a bulk server for tests. It checks the wire form, keeps
// documents by index and _id, and answers as the lines of FOLDER/script say, one a
// request; the last one stays:
//
//   ok              all items 201, 200 where the document was there
//   STATUS          that status (429, 503, 413, 401 ...), with a reason
//   after:N         429 with Retry-After: N
//   large:N         413 where the body has more than N documents, else ok
//   refuse:TEXT     items whose source contains TEXT get 400, the others 201
//   busy:TEXT       the same with 429, once for each document
//   reset           the connection is closed without an answer
//   half            half of an answer, then the connection is closed
//   slow:MS         ok after that time
//   garbage         200, which is no JSON
//   redirect:URL    307 to that address
//
// FOLDER/port has its port; FOLDER/state is written after each request: requests
// with status, documents and headers, documents kept, mistakes in the wire form.
// It ends with its standard input.
import http from "http";
import https from "https";
import { gunzipSync } from "zlib";
import { existsSync, readFileSync, renameSync, writeFileSync } from "fs";

const [folder, tls] = process.argv.slice(2);
const state = { requests: [], mistakes: [], docs: {} }, busy = new Set();
let turn = 0;

function step() {
    const path = `${folder}/script`;
    const lines = existsSync(path)
        ? readFileSync(path, "utf8").trim().split("\n") : ["ok"];
    const line = lines[Math.min(turn++, lines.length - 1)], at = line.indexOf(":");
    return at < 0 ? [line] : [line.slice(0, at), line.slice(at + 1)];
}

// The pairs of a body; mistakes are kept.
function parse(request, body) {
    const wrong = (text) => state.mistakes.push(text), pairs = [];
    if (request.method !== "POST") wrong(`method ${request.method}`);
    if (request.url !== "/_bulk" && request.url !== "/base/_bulk")
        wrong(`url ${request.url}`);
    if (!/^application\/(vnd\.elasticsearch\+)?x-ndjson/.test(
        request.headers["content-type"])) wrong("content type");
    let text = "";
    try {
        text = (request.headers["content-encoding"] === "gzip"
            ? gunzipSync(body) : body).toString("utf8");
    } catch (error) {
        wrong(`gzip: ${error.message}`);
    }
    if (!text.endsWith("\n")) wrong("no newline at the end");
    const lines = text.split("\n").slice(0, -1);
    for (let i = 0; i < lines.length; i += 2) {
        try {
            const action = JSON.parse(lines[i]), source = JSON.parse(lines[i + 1]);
            const [[op, meta]] = Object.entries(action);
            if (op !== "index" || Object.keys(action).length !== 1 ||
                !/^[a-z0-9][a-z0-9_.-]*$/.test(meta._index) ||
                typeof meta._id !== "string" || !meta._id ||
                Buffer.byteLength(meta._id) > 512 || typeof source !== "object")
                wrong(`action ${lines[i]}`);
            pairs.push({ index: meta._index, id: meta._id, source, text: JSON.stringify(source) });
        } catch (error) {
            wrong(`line ${i}: ${error.message}`);
        }
    }
    return { pairs, length: text.length };
}

function items(pairs, how, text) {
    return pairs.map((p) => {
        const key = `${p.index}/${p.id}`, hit = text && p.text.includes(text);
        const error = (status, reason) => ({ index: { _index: p.index, _id: p.id,
            status, error: { type: "test", reason } } });
        if (how === "refuse" && hit) return error(400, "failed to parse field");
        if (how === "busy" && hit && !busy.has(key)) {
            busy.add(key);
            return error(429, "rejected execution");
        }
        const status = key in state.docs ? 200 : 201;
        state.docs[key] = p.source;
        return { index: { _index: p.index, _id: p.id, status } };
    });
}

function answer(request, response, body) {
    const [how, value] = step(), { pairs, length } = parse(request, body);
    const send = (status, json, headers = {}) => {
        state.requests.push({ how, status, docs: pairs.length, length,
            headers: request.headers });
        writeFileSync(`${folder}/state.new`, JSON.stringify(state));
        renameSync(`${folder}/state.new`, `${folder}/state`);
        if (status === 0) return request.socket.destroy();
        response.writeHead(status, { "content-type": "application/json",
            "x-elastic-product": "Elasticsearch", ...headers });
        response.end(typeof json === "string" ? json : JSON.stringify(json));
    };
    const ok = () => {
        const done = items(pairs, how, value);
        send(200, { took: 1, errors: done.some((i) => i.index.error), items: done });
    };
    const error = (status) => ({ error: { type: "test", reason: `says ${status}` }, status });
    if (how === "reset") send(0);
    else if (how === "half") {
        state.requests.push({ how, status: -1, docs: pairs.length });
        response.writeHead(200, { "content-length": "1000" });
        response.write('{"items":[');
        setTimeout(() => request.socket.destroy(), 20);
    } else if (how === "garbage") send(200, "<html>proxy</html>");
    else if (how === "redirect") send(307, {}, { location: value });
    else if (how === "after") send(429, error(429), { "retry-after": value });
    else if (how === "large" && pairs.length > Number(value)) send(413, error(413));
    else if (how === "slow") setTimeout(ok, Number(value));
    else if (/^[0-9]+$/.test(how)) send(Number(how), error(Number(how)));
    else ok();
}

const listen = (request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => answer(request, response, Buffer.concat(parts)));
};
const server = tls
    ? https.createServer({ key: readFileSync(`${folder}/key.pem`),
        cert: readFileSync(`${folder}/cert.pem`) }, listen)
    : http.createServer(listen);
server.listen(0, "127.0.0.1", () => {
    writeFileSync(`${folder}/port.new`, String(server.address().port));
    renameSync(`${folder}/port.new`, `${folder}/port`);
});
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
