// cells.js - the figures of the timeline: rows, kinds, cells.
const node = id => document.getElementById(id);

export const SIZES = ['below 64 KiB', '64 KiB to 4 MiB', '4 MiB and more'];
export const CLASS_FROM = [0, 64 * 1024, 4 * 1024 * 1024];
export const sizeClass = bytes => CLASS_FROM.filter(from => bytes >= from)
  .length - 1;

// null: the page has none.
export function readCells() {
  if (!node('timeline-data')) return null;
  const data = JSON.parse(node('timeline-data').textContent);
  const bytes = window.jobprof.inflate(node('timeline-cells').textContent);
  const n = data.rows.length * data.bins;
  const kind = new Uint16Array(bytes.subarray(0, n));
  if (data.wide)
    for (let i = 0; i < n; i++) kind[i] |= bytes[n + i] << 8;
  const levels = bytes.subarray(n * (data.wide ? 2 : 1));
  const rows = data.rows.map(([host, rank, pid], at) => ({
    at, host: data.hosts[host], rank: rank ?? '', pid,
    name: rank ?? `pid ${pid}`,
  }));
  const kinds = data.kinds.map(([id, name, func, size, us]) =>
    ({id, name, func, size, us}));
  // functions by time, so that the legend begins with what matters
  const time = new Map();
  for (const k of kinds) time.set(k.func, (time.get(k.func) ?? 0) + k.us);
  const funcs = [...time].sort((a, b) => b[1] - a[1]).map(([func]) => func);
  return {...data, rows, kinds, kind, levels, funcs};
}

// Which rows and kinds the page's filter leaves.
export function narrowCells(cells, filter) {
  const rows = cells.rows.filter(row =>
    (!filter.rank || row.rank === filter.rank) &&
    (!filter.node || row.host === filter.node));
  const size = filter.size === undefined ? -1 : sizeClass(Number(filter.size));
  const kinds = cells.kinds.map(k => (!filter.comm || k.id === filter.comm) &&
    (!filter.func || k.func === filter.func) && (size < 0 || k.size === size));
  return {rows, kinds};
}
