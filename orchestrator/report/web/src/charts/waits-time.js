// waits-time.js - when the others waited for which rank, or node.
import {sliceStart} from '../axes.js';
import {count, us} from '../format.js';
import {overTime, rowHeight, unflatten} from '../heat.js';
import {tip} from '../tip.js';

export const waitsTime = {
  zoom: true,
  has: data => data.slices > 1 && data.ranks.cells.length > 0,
  controls: data => [{
    key: 'by', label: 'By',
    options: data.nodes.of > 1 ? [['ranks', 'rank'], ['nodes', 'node']]
      : [['ranks', 'rank']],
  }],
  height(data, state) {
    const rows = data[state.by].names.length;
    return 104 + rows * rowHeight(rows);
  },
  note(data, state) {
    const {names, of} = data[state.by];
    return of > names.length
      ? `The ${names.length} of ${count(of)} ${state.by} for which the others ` +
        'waited longest.'
      : '';
  },
  option(data, state, look) {
    const {names, cells: flat} = data[state.by];
    const cells = unflatten(flat, 3);
    return overTime(data, state, look, {
      names, cells, formatter: us, max: Math.max(1, ...cells.map(c => c[2])),
      tip: ({data: [slice, row, waited]}) => tip(names[row], [
        ['time', us(sliceStart(data, slice) * 1e6)],
        ['the others waited', us(waited)]]),
    });
  },
};
