// detail.js - single operations of a window, from a file beside the page.
//
// timeline.js is a script, because a page that was opened from disk may load no
// other file. It calls jobprof.detail.
import {bytes as size, us} from '../format.js';
import {colourOf, hatch} from './picture.js';

const MOST = 12000; // operations that are drawn at once

function* numbers(bytes) {
  for (let i = 0; i < bytes.length;) {
    let value = 0, scale = 1;
    for (; bytes[i] >= 0x80; scale *= 128) value += (bytes[i++] & 127) * scale;
    yield value + bytes[i++] * scale;
  }
}

// Operations by row; each with how long it waited for the last rank.
function unpack(bytes, cells) {
  const rows = cells.rows.map(() => []);
  const shortest = new Map();
  const key = op => `${op.kind?.id} ${op.kind?.func} ${op.sn}`;
  const next = numbers(bytes);
  for (const row of rows)
    for (let kind; (kind = next.next().value);) {
      const op = {kind: cells.kinds[kind - 2], start: next.next().value,
        time: next.next().value, sn: next.next().value,
        bytes: next.next().value};
      row.push(op);
      const least = shortest.get(key(op)) ?? {time: Infinity, n: 0};
      shortest.set(key(op), {time: Math.min(least.time, op.time),
        n: least.n + 1});
    }
  for (const row of rows)
    for (const op of row) {
      const {time, n} = shortest.get(key(op));
      op.waits = n > 1 && /^All|^ReduceSc/.test(op.kind?.func ?? '')
        ? op.time - time : 0;
    }
  return rows;
}

// Resolves with false where there is no such file.
export function loadDetail(timeline) {
  return new Promise(done => {
    window.jobprof.detail = (head, text) => {
      const {cells} = timeline;
      if (head.page !== cells.from) return; // of another report
      timeline.detail = {...head,
        rows: unpack(window.jobprof.inflate(text), cells)};
    };
    const script = document.createElement('script');
    script.src = 'timeline.js';
    script.onload = () => done(Boolean(timeline.detail));
    script.onerror = () => done(false);
    document.head.append(script);
  });
}

// Of the rows and the time that show; null: too many, or none are known.
function visible({detail, rows, cells, x, y}) {
  if (!detail || x[1] <= detail.from || x[0] >= detail.to) return null;
  const from = (x[0] - detail.from) * cells.width;
  const to = (x[1] - detail.from) * cells.width;
  const found = [];
  let n = 0;
  for (let r = Math.max(0, Math.floor(y[0])); r < Math.min(rows.length, y[1]);
    r++) {
    const ops = detail.rows[rows[r].at].filter(
      op => op.start < to && op.start + op.time > from);
    n += ops.length;
    if (n > MOST) return null;
    found.push([r, ops]);
  }
  return found;
}

export function drawDetail(timeline, plot, theme) {
  const found = visible(timeline);
  timeline.single = found;
  if (!found) return;
  const {context: c, cells, detail, kinds} = timeline;
  const x = t => timeline.xOf(detail.from + t / cells.width, plot);
  const left = Math.max(plot.left, timeline.xOf(detail.from, plot));
  const right = Math.min(plot.left + plot.width,
    timeline.xOf(detail.to, plot));
  const pattern = hatch(c, theme.card, 1);
  c.save();
  c.beginPath();
  c.rect(left, plot.top, right - left, plot.height);
  c.clip();
  c.fillStyle = theme.heat[0];
  c.fillRect(left, plot.top, right - left, plot.height);
  for (const [r, ops] of found) {
    const top = timeline.yOf(r, plot), high = timeline.yOf(r + 1, plot) - top;
    for (const op of ops) {
      if (!op.kind || !kinds[cells.kinds.indexOf(op.kind)]) continue;
      const from = x(op.start), wide = Math.max(0.5, x(op.start + op.time) -
        from);
      c.fillStyle = `rgb(${colourOf(theme, op.kind.func,
        op.kind.size)})`;
      c.fillRect(from, top, wide, Math.max(1, high - (high > 5 ? 1 : 0)));
      if (!op.waits) continue;
      c.fillStyle = pattern;
      c.fillRect(from, top, x(op.start + op.waits) - from, high);
    }
  }
  c.restore();
}

// The operation at a place of a row; undefined: none.
export function singleAt({single, detail, cells}, row, bin) {
  const t = (bin - (detail?.from ?? 0)) * cells.width;
  const ops = single?.find(([r]) => r === row)?.[1];
  return ops?.find(op => op.start <= t && op.start + op.time >= t);
}

export const singleWords = op => `${op.kind?.func ?? 'operation'} ${op.sn} of ${
  op.kind?.name || op.kind?.id || 'an unknown communicator'}, ${
  size(op.bytes)}, ${us(op.time)}${op.waits ? `, of that waiting ${
  us(op.waits)}` : ''}`;
