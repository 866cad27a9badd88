// network-size.js - the network's bandwidth over message size beside what was
// expected of it.
import {exponent} from '../axes.js';
import {gbs} from '../format.js';
import {unflatten} from '../heat.js';
import {P5, P95, SIZE, sizeChart} from '../size-chart.js';

const [LOW, EXPECTED, HIGH] = [5, 6, 7];
const pointsOf = line => unflatten(line.points, 8);
const isExpected = p => p[EXPECTED] !== null;
const told = value => (value === null ? '-' : gbs(value));

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

function expectedSeries(line, look) {
  const expected = line.points.filter(isExpected);
  return [{
    type: 'custom', name: line.name, color: look.color, z: 4, clip: true,
    data: expected.map(p => [exponent(p[SIZE]), p[EXPECTED], p]),
    renderItem: drawExpected(expected, look),
  }];
}

export const networkSize = sizeChart({
  linesOf: data => data.series.map(
    line => ({name: line.name, coll: line.coll, points: pointsOf(line)})),
  details: p => [['expected', told(p[EXPECTED])], ['from', told(p[LOW])],
    ['to', told(p[HIGH])]],
  values: p => [p[P5], p[P95], p[LOW], p[EXPECTED], p[HIGH]]
    .filter(v => v !== null),
  more: expectedSeries,
  note: data => (data.series.some(line => pointsOf(line).some(isExpected))
    ? 'A thick stroke is what was expected, dashes its band. '
    : 'Nothing was expected of these: neither peaks.conf nor a baseline ' +
      'knows them. ') +
    'The shaded band holds 90 % of the operations.' +
    (data.of > data.series.length
      ? ` Shown are ${data.series.length} of ${data.of} kinds.` : ''),
});
