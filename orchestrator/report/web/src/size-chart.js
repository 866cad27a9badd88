// size-chart.js - what the charts over message size share: a line a kind, with
// its band.
//
// Points begin with size, operations, p5, p50, p95.
import {exponent, gbsAxis, legend, sizeAxis} from './axes.js';
import {bytes, count, gbs} from './format.js';
import {functionLooks} from './theme.js';
import {tip, tooltip} from './tip.js';

export const [SIZE, OPS, P5, P50, P95] = [0, 1, 2, 3, 4];

// The band is one polygon; of a single size, a bar.
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

function lineWithBand(line, look) {
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

const tipOf = details => ({seriesName, data: [, , p]}) =>
  tip(`${seriesName}, ${bytes(p[SIZE])}`, [
    ['median', gbs(p[P50])], ['5th percentile', gbs(p[P5])],
    ['95th percentile', gbs(p[P95])], ...details(p),
    ['operations', count(p[OPS])],
  ]);

// linesOf(data): [{name, coll, points}]; details(point): more rows of its tooltip;
// values(point): what the axis must reach; more(line, look): series beside a
// line's own.
export function sizeChart({linesOf, details, values, note, more = () => []}) {
  const legendOf = (lines, look) =>
    legend(look.theme, lines.map(line => line.name), look);
  return {
    has: data => data.series.length > 0,
    height: (data, state, look) => (look.narrow ? 300 : 350) +
      legendOf(linesOf(data), look).bottom,
    note,
    option(data, state, look) {
      const lines = linesOf(data);
      const box = legendOf(lines, look);
      const looks = functionLooks(look.theme, lines);
      const all = lines.flatMap(line => line.points);
      const drawn = (line, its) =>
        [...lineWithBand(line, its), ...more(line, its)];
      return {
        grid: {left: 52, right: 16, top: box.bottom + 26, bottom: 44},
        legend: box.option,
        tooltip: tooltip(look.theme, tipOf(details), {trigger: 'item'}),
        xAxis: sizeAxis(look.theme, all.map(p => p[SIZE]), look.width),
        yAxis: gbsAxis(look.theme, all.flatMap(values)),
        series: lines.flatMap((line, i) => drawn(line, looks[i])),
      };
    },
  };
}
