// sizes.js - operations, data or time by message size.
import {legend, namesAxis, valueAxis} from '../axes.js';
import {bytes, count, us} from '../format.js';
import {unflatten} from '../heat.js';
import {functionHex} from '../theme.js';
import {tip, tooltip} from '../tip.js';

const [EXPONENT, COLL, OPS, BYTES, US] = [0, 1, 2, 3, 4];
const measures = {
  ops: {at: OPS, format: count, name: 'operations'},
  bytes: {at: BYTES, format: bytes, name: 'data'},
  us: {at: US, format: us, name: 'time'},
};

// All powers of two from the least to the most, so gaps show.
function exponentsOf(rows) {
  const all = rows.map(row => row[EXPONENT]);
  const first = Math.min(...all);
  return Array.from({length: Math.max(...all) - first + 1}, (_, i) => first + i);
}

export const sizes = {
  patterns: true,
  has: data => data.rows.length > 0,
  height: (data, state, look) => (look.narrow ? 230 : 260) +
    legend(look.theme, data.colls, look).bottom,
  controls: () => [{key: 'what', label: 'Count',
    options: Object.entries(measures).map(([key, m]) => [key, m.name])}],
  note: () => 'Bars stand for sizes from the one below them to twice that.',
  option(data, state, look) {
    const {at, format, name} = measures[state.what];
    const rows = unflatten(data.rows, 5);
    const box = legend(look.theme, data.colls, look);
    const exponents = exponentsOf(rows);
    const formatter = list => tip(
      `from ${bytes(2 ** exponents[list[0].dataIndex])}`,
      list.filter(p => p.value).map(p => [p.seriesName, format(p.value)]));
    const valuesOf = coll => exponents.map(e => rows
      .filter(row => row[EXPONENT] === e && row[COLL] === coll)
      .reduce((sum, row) => sum + row[at], 0));
    return {
      grid: {left: 62, right: 16, top: box.bottom + 26, bottom: 44},
      legend: box.option,
      tooltip: tooltip(look.theme, formatter,
        {trigger: 'axis', axisPointer: {type: 'shadow'}}),
      xAxis: namesAxis(look.theme, exponents.map(e => bytes(2 ** e)), undefined,
        {name: 'message size', nameLocation: 'middle', nameGap: 26}),
      yAxis: valueAxis(look.theme, format, {name}),
      series: data.colls.map((coll, i) => ({
        type: 'bar', stack: 'all', name: coll, data: valuesOf(i),
        color: functionHex(look.theme, coll), barMaxWidth: 46,
        barCategoryGap: '18%'})),
    };
  },
};
