// narrow.js - what the page's filter leaves of a chart's figures, and what a
// click on a chart sets.
//
// Figures say by their form what they tell: series and cells have a function
// (coll) and a size (bytes), rows a communicator (id) or a rank and its host,
// names are "rank host".
import {sliceStart} from './axes.js';

// "3 node7", or "3 of TP1 node7 pid 4711".
export function splitName(name) {
  const words = name.split(' ');
  const host = words[words.length - 2] === 'pid' ? words[words.length - 3]
    : words[words.length - 1];
  const rank = name.slice(0, name.lastIndexOf(` ${host}`));
  return {rank: rank === name ? '' : rank, host};
}

const hasRank = (name, f) => {
  const {rank, host} = splitName(name);
  return (!f.rank || rank === f.rank) && (!f.node || host === f.node);
};

// Rows that stay, with new numbers; cells are [row, ..., ...] of `size` values.
function keepRows(keep, cells, size) {
  const at = [];
  let n = 0;
  keep.forEach((kept, i) => { at[i] = kept ? n++ : -1; });
  const left = [];
  for (let i = 0; i + size <= cells.length; i += size)
    if (at[cells[i]] >= 0)
      left.push(at[cells[i]], ...cells.slice(i + 1, i + size));
  return left;
}

function narrowNames(part, keep, size = 3) {
  const kept = part.names.map(keep);
  return {...part, names: part.names.filter((_, i) => kept[i]),
    cells: keepRows(kept, part.cells, size)};
}

// A matrix: whoever exchanges something with what is asked for.
function narrowPairs(data, f) {
  const hit = data.names.map(name => (data.by === 'node'
    ? !f.node || name === f.node : hasRank(name, f)));
  const keep = data.names.map(() => false);
  const cells = [];
  for (let i = 0; i + 4 <= data.cells.length; i += 4)
    if (hit[data.cells[i]] || hit[data.cells[i + 1]])
      keep[data.cells[i]] = keep[data.cells[i + 1]] = true;
  const at = [];
  let n = 0;
  keep.forEach((kept, i) => { at[i] = kept ? n++ : -1; });
  for (let i = 0; i + 4 <= data.cells.length; i += 4)
    if (hit[data.cells[i]] || hit[data.cells[i + 1]])
      cells.push(at[data.cells[i]], at[data.cells[i + 1]], data.cells[i + 2],
        data.cells[i + 3]);
  return {...data, names: data.names.filter((_, i) => keep[i]), cells};
}

function narrowRows(data, f) {
  const [first] = data.rows;
  if (Array.isArray(first))
    return {...data, rows: data.rows.filter(row => (typeof row[0] === 'string' &&
      typeof row[1] === 'number' ? !f.node || row[0] === f.node
      : (!f.rank || String(row[0]) === f.rank) &&
        (!f.node || row[1] === f.node)))};
  if (first?.id === undefined || !f.comm) return data;
  const kept = data.rows.map(row => row.id === f.comm);
  return {...data, rows: data.rows.filter((_, i) => kept[i]),
    cells: keepRows(kept, data.cells, 3)};
}

const matches = f => part =>
  (!f.func || part.coll === undefined || part.coll === f.func) &&
  (!f.size || part.bytes === undefined || String(part.bytes) === f.size);

export function narrow(data, f) {
  if (!data) return data;
  if (data.by && data.names) return narrowPairs(data, f);
  if (data.ranks && data.nodes)
    return {...data,
      ranks: narrowNames(data.ranks, name => hasRank(name, f)),
      nodes: narrowNames(data.nodes, name => !f.node || name === f.node)};
  if (data.names && data.cells)
    return narrowNames(data, name => hasRank(name, f));
  if (data.colls && data.rows) {
    if (!f.func) return data;
    const at = data.colls.indexOf(f.func), rows = [];
    for (let i = 0; i + 5 <= data.rows.length; i += 5)
      if (data.rows[i + 1] === at) rows.push(...data.rows.slice(i, i + 5));
    return {...data, rows};
  }
  if (data.series)
    return {...data, series: data.series.filter(matches(f))};
  if (data.rows) return narrowRows(data, f);
  if (data.cells && typeof data.cells[0] === 'object')
    return {...data, cells: data.cells.filter(matches(f))};
  return data;
}

const ofName = name => {
  const {rank, host} = splitName(name);
  return rank ? {rank} : {node: host};
};

// null: a click there says nothing.
export function picked(chart, data, event, state) {
  const value = Array.isArray(event.value) ? event.value : [];
  switch (chart) {
  case 'waits':
  case 'nodes':
    return data.rows[event.dataIndex] && event.name
      ? chart === 'nodes' ? {node: splitName(event.name).host || event.name}
        : ofName(event.name) : null;
  case 'busy':
    return data.names[value[1]] ? ofName(data.names[value[1]]) : null;
  case 'waits-time': {
    const name = data[state.by].names[value[1]];
    if (!name) return null;
    return state.by === 'nodes' ? {node: name} : ofName(name);
  }
  case 'drift':
    return data.rows[value[1]] ? {comm: data.rows[value[1]].id,
      time: [0, 1].map(more => Number(
        sliceStart(data, value[0] + more).toPrecision(6))).join('-')}
      : null;
  case 'busbw-size':
  case 'busbw-time':
  case 'numbers': {
    const part = data.series[event.seriesIndex];
    return part?.coll ? {func: part.coll} : null;
  }
  default:
    return null;
  }
}
