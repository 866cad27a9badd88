// util-time.js - a map of utilisation: GPUs, or nodes, by time.
import {sliceStart} from '../axes.js';
import {count, us} from '../format.js';
import {overTime, rowHeight, unflatten} from '../heat.js';
import {tip} from '../tip.js';
import {metricName, valueOf} from '../units.js';

const chosen = (data, state) => data.maps[Number(state.map)];

export const utilTime = {
  zoom: true,
  has: data => data.slices > 1 && data.maps.length > 0,
  controls: ({maps}) => [{
    key: 'map', label: 'Metric',
    options: maps.map((map, i) => [String(i), metricName(map)]),
  }],
  height(data, state) {
    const {names} = chosen(data, state);
    return 104 + names.length * rowHeight(names.length);
  },
  note(data, state) {
    const {names, rows} = chosen(data, state);
    return rows > names.length
      ? `The ${names.length} of ${count(rows)} that differ most from the median.`
      : '';
  },
  option(data, state, look) {
    const map = chosen(data, state);
    const cells = unflatten(map.cells, 3);
    const value = valueOf(map.unit);
    const most = Math.max(...cells.map(cell => cell[2]));
    const drawn = overTime(data, state, look, {
      names: map.names, cells, formatter: value,
      max: map.unit === 'share' && most > 0.3 ? 1 : most,
      tip: ({data: [slice, row, v]}) => tip(map.names[row], [
        ['time', us(sliceStart(data, slice) * 1e6)],
        [map.name.replace(/_/g, ' '), value(v)]]),
    });
    return {...drawn,
      xAxis: {...drawn.xAxis, name: 'time since the first sample'}};
  },
};
