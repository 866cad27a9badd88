// busy.js - in which share of the time processes were communicating.
import {sliceStart} from '../axes.js';
import {count, us} from '../format.js';
import {overTime, rowHeight, unflatten} from '../heat.js';
import {tip} from '../tip.js';

const percent = mille => `${(mille / 10).toFixed(1)} %`;

export const busy = {
  zoom: true,
  has: data => data.slices > 1 && data.cells.length > 0,
  height: data => 104 + data.names.length * rowHeight(data.names.length),
  note(data) {
    const {names, of} = data;
    return of > names.length
      ? `Of ${count(of)} processes the ${count(names.length / 2)} least and ` +
        `the ${count(names.length / 2)} most busy.`
      : '';
  },
  option(data, state, look) {
    const {names} = data;
    const cells = unflatten(data.cells, 3);
    const most = cells.reduce((n, c) => Math.max(n, c[2]), 1);
    return overTime(data, state, look, {
      names, cells, formatter: percent, max: 50 * Math.ceil(most / 50),
      tip: ({data: [slice, row, share]}) => tip(names[row], [
        ['time', us(sliceStart(data, slice) * 1e6)],
        ['communicating', percent(share)]]),
    });
  },
};
