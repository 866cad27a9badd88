// busbw-time.js - bandwidth over the run, a line a function and size.
import {gbsAxis, legend, sliceStart, timeAxis, zoom} from '../axes.js';
import {cellNames, count, gbs, us} from '../format.js';
import {unflatten} from '../heat.js';
import {functionLooks} from '../theme.js';
import {tip, tooltip} from '../tip.js';

const [SLICE, OPS, MEAN, LEAST, MOST] = [0, 1, 2, 3, 4];

const middle = (data, slice) =>
  sliceStart(data, slice) + data.width / 2e6;

function linesOf(data, state) {
  const names = cellNames(data.series);
  return data.series
    .map((line, i) => ({name: names[i], i, coll: line.coll, points: unflatten(line.points, 5)}))
    .filter(line => line.points.length > 0 &&
      (state.which === 'all' || Number(state.which) === line.i));
}

const legendOf = (lines, look) =>
  legend(look.theme, lines.map(line => line.name), look);

// Least to most, for a line that stands alone.
function drawRange(data, points, look) {
  return (params, api) => {
    if (params.dataIndex !== 0) return null;
    const edge = key => points.map(
      p => api.coord([middle(data, p[SLICE]), p[key]]));
    return {type: 'polygon', silent: true,
      style: {fill: look.color, opacity: 0.17},
      shape: {points: [...edge(MOST), ...edge(LEAST).reverse()]}};
  };
}

function seriesOf(data, line, look, alone) {
  const points = line.points.map(p => [middle(data, p[SLICE]), p[MEAN], p]);
  const drawn = [{
    type: 'line', name: line.name, data: points, symbol: look.symbol,
    symbolSize: 4, showSymbol: points.length < 60, color: look.color,
    lineStyle: {width: 1.8, type: look.dash}, emphasis: {focus: 'series'}, z: 3,
  }];
  if (alone)
    drawn.push({
      type: 'custom', name: line.name, data: points.map(p => p.slice(0, 2)),
      renderItem: drawRange(data, line.points, look), color: look.color, z: 1,
      clip: true, silent: true, tooltip: {show: false},
    });
  return drawn;
}

const formatter = data => ({seriesName, data: [, , p]}) => tip(seriesName, [
  ['time', us(sliceStart(data, p[SLICE]) * 1e6)], ['mean', gbs(p[MEAN])],
  ['least', gbs(p[LEAST])], ['most', gbs(p[MOST])],
  ['operations', count(p[OPS])],
]);

export const busbwTime = {
  zoom: true,
  has: data => data.slices > 1 &&
    data.series.some(line => line.points.length > 0),
  height: (data, state, look) => (look.narrow ? 310 : 350) +
    legendOf(linesOf(data, state), look).bottom,
  controls(data) {
    const lines = linesOf(data, {which: 'all'});
    const one = line => [String(line.i), line.name];
    return [{key: 'which', label: 'Show',
      options: [['all', 'all'], ...lines.length > 1 ? lines.map(one) : []]}];
  },
  note(data, state) {
    const what = state.which === 'all'
      ? 'Mean over the operations of a slice of time.'
      : 'Mean over the operations of a slice of time, and the range from the ' +
        'least to the most.';
    const shown = linesOf(data, {which: 'all'}).length;
    return data.of > shown
      ? `${what} The ${shown} of ${count(data.of)} kinds with ` +
        'most time.'
      : what;
  },
  option(data, state, look) {
    const lines = linesOf(data, state);
    const alone = lines.length === 1;
    const box = legendOf(lines, look);
    const looks = functionLooks(look.theme, data.series);
    const values = lines.flatMap(line => line.points.flatMap(
      p => (alone ? [p[LEAST], p[MOST]] : [p[MEAN]])));
    return {
      grid: {left: 52, right: 16, top: box.bottom + 26, bottom: 70},
      legend: box.option,
      tooltip: tooltip(look.theme, formatter(data), {trigger: 'item'}),
      dataZoom: zoom(look.theme, state.zoom),
      xAxis: timeAxis(look.theme, data),
      yAxis: gbsAxis(look.theme, values),
      series: lines.flatMap(line => seriesOf(
        data, line, looks[line.i], alone)),
    };
  },
};
