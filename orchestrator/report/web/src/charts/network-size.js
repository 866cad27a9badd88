// network-size.js - the network's bandwidth over message size beside what was
// expected of it.
import {exponent, gbsAxis, legend, sizeAxis} from '../axes.js';
import {bytes, count, gbs} from '../format.js';
import {unflatten} from '../heat.js';
import {seriesLook} from '../theme.js';
import {tip, tooltip} from '../tip.js';
import {lineWithBand} from './busbw-size.js';

const [SIZE, OPS, P5, P50, P95, LOW, EXPECTED, HIGH] = [0, 1, 2, 3, 4, 5, 6, 7];
const linesOf = data => data.series.map(
  line => ({name: line.name, points: unflatten(line.points, 8)}));
const isExpected = p => p[EXPECTED] !== null;

const legendOf = (lines, look) =>
  legend(look.theme, lines.map(line => line.name), look);

// A bar from low to high, with a stroke at what is expected.
function drawExpected(points, look) {
  return (params, api) => {
    const p = points[params.dataIndex];
    const [x, y] = api.coord([exponent(p[SIZE]), p[EXPECTED]]);
    const half = 9, stroke = {stroke: look.color, lineWidth: 1.5};
    const line = (x1, y1, x2, y2, style) =>
      ({type: 'line', shape: {x1, y1, x2, y2}, style});
    const ends = [p[LOW], p[HIGH]].filter(v => v !== null)
      .map(v => api.coord([exponent(p[SIZE]), v])[1]);
    return {type: 'group', children: [
      line(x - half, y, x + half, y, {...stroke, lineWidth: 3}),
      ...ends.map(end => line(x, y, x, end, {...stroke, lineDash: [3, 3]})),
      ...ends.map(end => line(x - 4, end, x + 4, end, stroke)),
    ]};
  };
}

function seriesOf(line, look) {
  const expected = line.points.filter(isExpected);
  return [...lineWithBand(line, look), {
    type: 'custom', name: line.name, color: look.color, z: 4, clip: true,
    data: expected.map(p => [exponent(p[SIZE]), p[EXPECTED], p]),
    renderItem: drawExpected(expected, look),
  }];
}

function formatter({seriesName, data}) {
  const p = data[2];
  const told = v => (v === null ? '-' : gbs(v));
  return tip(`${seriesName}, ${bytes(p[SIZE])}`, [
    ['median', gbs(p[P50])], ['5th percentile', gbs(p[P5])],
    ['95th percentile', gbs(p[P95])], ['expected', told(p[EXPECTED])],
    ['from', told(p[LOW])], ['to', told(p[HIGH])],
    ['operations', count(p[OPS])],
  ]);
}

export const networkSize = {
  has: data => data.series.length > 0,
  height: (data, state, look) => (look.narrow ? 300 : 350) +
    legendOf(linesOf(data), look).bottom,
  note: data => (data.series.some(
    line => unflatten(line.points, 8).some(isExpected))
    ? 'A thick stroke is what was expected, dashes its band. '
    : 'Nobody says what to expect. ') +
    'The shaded band holds 90 % of the operations.' +
    (data.of > data.series.length
      ? ` Shown are ${data.series.length} of ${data.of} kinds.` : ''),
  option(data, state, look) {
    const lines = linesOf(data);
    const box = legendOf(lines, look);
    const all = lines.flatMap(line => line.points);
    return {
      grid: {left: 52, right: 16, top: box.bottom + 26, bottom: 44},
      legend: box.option,
      tooltip: tooltip(look.theme, formatter, {trigger: 'item'}),
      xAxis: sizeAxis(look.theme, all.map(p => p[SIZE]), look.width),
      yAxis: gbsAxis(look.theme, all.flatMap(
        p => [p[P5], p[P95], p[LOW], p[EXPECTED], p[HIGH]]
          .filter(v => v !== null))),
      series: lines.flatMap(
        (line, i) => seriesOf(line, seriesLook(look.theme, i))),
    };
  },
};
