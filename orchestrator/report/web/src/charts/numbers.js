// numbers.js - each operation of a kind by its sequence number: a dot each.
import {gbsAxis, isWide, legend, valueAxis, zoom} from '../axes.js';
import {cellNames, count, gbs, tick, us} from '../format.js';
import {unflatten} from '../heat.js';
import {functionLooks} from '../theme.js';
import {tip, tooltip} from '../tip.js';

const [NUMBER, GBS, US] = [0, 1, 2];

function linesOf(data, state) {
  const names = cellNames(data.series);
  return data.series
    .map((line, i) => ({name: names[i], i, n: line.n,
      points: unflatten(line.points, 3)}))
    .filter(line => state.which === 'all' || Number(state.which) === line.i);
}

const legendOf = (lines, look) =>
  legend(look.theme, lines.map(line => line.name), look);

function timesAxis(theme, values) {
  if (!isWide(values)) return valueAxis(theme, tick, {name: 'time', min: 0});
  return valueAxis(theme, tick, {name: 'time', type: 'log',
    min: 10 ** Math.floor(Math.log10(Math.min(...values.filter(v => v > 0)))),
    max: 10 ** Math.ceil(Math.log10(Math.max(...values)))});
}

const formatter = ({seriesName, data: [, , p]}) => tip(seriesName, [
  ['sequence number', count(p[NUMBER])], ['bandwidth', gbs(p[GBS])],
  ['time', us(p[US])],
]);

// Said where it is a part: how many dots of how many operations.
function sampleOf(lines) {
  const drawn = lines.reduce((sum, line) => sum + line.points.length, 0);
  const all = lines.reduce((sum, line) => sum + line.n, 0);
  return drawn < all
    ? `${count(drawn)} of ${count(all)} operations, thinned evenly; the ` +
      'slowest and the fastest of each kind are among them.'
    : `All ${count(all)} operations.`;
}

export const numbers = {
  zoom: true,
  has: data => data.series.length > 0,
  height: (data, state, look) => (look.narrow ? 310 : 350) +
    legendOf(linesOf(data, state), look).bottom,
  controls(data) {
    const lines = linesOf(data, {which: 'all'});
    const one = line => [String(line.i), line.name];
    const timed = lines.some(line => line.points.some(p => p[US] > 0));
    return [{key: 'what', label: 'Show', options: [['gbs', 'bandwidth'],
      ...timed ? [['us', 'time']] : []]},
    {key: 'which', label: 'Of',
      options: [['all', 'all'], ...lines.length > 1 ? lines.map(one) : []]}];
  },
  note(data, state) {
    const what = 'A dot is one operation, the mean over its ranks; each ' +
      'communicator counts its own. ' + sampleOf(linesOf(data, state));
    return data.of > data.series.length
      ? `${what} The ${data.series.length} of ${count(data.of)} kinds with ` +
        'most time.' : what;
  },
  option(data, state, look) {
    const at = state.what === 'us' ? US : GBS;
    const lines = linesOf(data, state);
    const box = legendOf(lines, look);
    const looks = functionLooks(look.theme, data.series);
    const values = lines.flatMap(line => line.points.map(p => p[at]))
      .filter(value => value !== null);
    return {
      grid: {left: 62, right: 16, top: box.bottom + 26, bottom: 70},
      legend: box.option,
      tooltip: tooltip(look.theme, formatter, {trigger: 'item'}),
      dataZoom: zoom(look.theme, state.zoom),
      xAxis: valueAxis(look.theme, count, {name: 'sequence number',
        nameLocation: 'middle', nameGap: 24, min: 'dataMin', max: 'dataMax'}),
      yAxis: at === US ? timesAxis(look.theme, values)
        : gbsAxis(look.theme, values),
      series: lines.map(line => {
        const {color, symbol} = looks[line.i];
        return {type: 'scatter', name: line.name, color, symbol, symbolSize: 5,
          itemStyle: {opacity: 0.65},
          data: line.points.filter(p => p[at] !== null && (at === GBS || p[at] > 0))
            .map(p => [p[NUMBER], p[at], p])};
      }),
    };
  },
};
