// busbw-size.js - median bandwidth over message size, with its band.
import {exponent, gbsAxis, legend, sizeAxis} from '../axes.js';
import {bytes, count, gbs} from '../format.js';
import {unflatten} from '../heat.js';
import {seriesLook} from '../theme.js';
import {tip, tooltip} from '../tip.js';

const [SIZE, OPS, P5, P50, P95, NET] = [0, 1, 2, 3, 4, 5];
const nameOf = line => `${line.coll}, ${line.type}`;
const linesOf = data => data.series.map(
  line => ({name: nameOf(line), points: unflatten(line.points, 6)}));

const legendOf = (lines, look) =>
  legend(look.theme, lines.map(line => line.name), look);

// The band is one polygon; of a single size, a bar with two caps.
function drawBand(points, look) {
  return (params, api) => {
    if (params.dataIndex !== 0) return null;
    const upper = points.map(p => api.coord([exponent(p[SIZE]), p[P95]]));
    const lower = points.map(p => api.coord([exponent(p[SIZE]), p[P5]]));
    const style = {fill: look.color, opacity: 0.17};
    if (points.length > 1)
      return {type: 'polygon', silent: true, style,
        shape: {points: [...upper, ...lower.reverse()]}};
    const [[x, top], [, bottom]] = [upper[0], lower[0]];
    return {type: 'rect', silent: true, style,
      shape: {x: x - 5, y: top, width: 10, height: bottom - top}};
  };
}

// Points begin with size, operations, p5, p50, p95.
export function lineWithBand(line, look) {
  return [{
    type: 'line', name: line.name, symbol: look.symbol, symbolSize: 7,
    data: line.points.map(p => [exponent(p[SIZE]), p[P50], p]),
    color: look.color, lineStyle: {width: 2, type: look.dash},
    emphasis: {focus: 'series'}, z: 3,
  }, {
    type: 'custom', name: line.name,
    data: line.points.map(p => [exponent(p[SIZE]), p[P50]]),
    renderItem: drawBand(line.points, look), color: look.color, z: 1,
    clip: true, silent: true, tooltip: {show: false},
  }];
}

function formatter({seriesName, data}) {
  const p = data[2];
  return tip(`${seriesName}, ${bytes(p[SIZE])}`, [
    ['median', gbs(p[P50])], ['5th percentile', gbs(p[P5])],
    ['95th percentile', gbs(p[P95])],
    ['by the last rank', p[NET] === null ? '-' : gbs(p[NET])],
    ['operations', count(p[OPS])],
  ]);
}

export const busbwSize = {
  has: data => data.series.length > 0,
  height: (data, state, look) => (look.narrow ? 300 : 350) +
    legendOf(linesOf(data), look).bottom,
  note: () => 'The band holds 90 % of the operations. By the last rank: ' +
    'without the others\u2019 waiting.',
  option(data, state, look) {
    const lines = linesOf(data);
    const box = legendOf(lines, look);
    const all = lines.flatMap(line => line.points);
    return {
      grid: {left: 52, right: 16, top: box.bottom + 26, bottom: 44},
      legend: box.option,
      tooltip: tooltip(look.theme, formatter, {trigger: 'item'}),
      xAxis: sizeAxis(look.theme, all.map(p => p[SIZE]), look.width),
      yAxis: gbsAxis(look.theme, all.flatMap(p => [p[P5], p[P50], p[P95]])),
      series: lines.flatMap(
        (line, i) => lineWithBand(line, seriesLook(look.theme, i))),
    };
  },
};
