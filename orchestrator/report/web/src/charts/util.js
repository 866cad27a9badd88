// util.js - utilisation over the run: the median of all, a band of the others, a
// band for each node that stands out and a line for each other member that does.
import {legend, sliceStart, timeAxis, valueAxis, zoom} from '../axes.js';
import {us} from '../format.js';
import {seriesLook} from '../theme.js';
import {tip, tooltip} from '../tip.js';
import {members, metricName, valueOf} from '../units.js';

const BAND_FROM = 20; // members, from which the band leaves out the ends

const chosen = (data, state) => data.metrics[Number(state.metric)];
const middle = (data, slice) => sliceStart(data, slice) + data.width / 2e6;

const sum = values => values.reduce((all, value) => all + value, 0);
const restOf = ({of, nodes, out}) =>
  of - out.length - sum(nodes.map(node => node.of));

// Lines with a band have low and high.
function linesOf(metric) {
  const rest = restOf(metric);
  return [
    {name: rest > 1 ? `median of ${members(metric, rest)}` : 'the other one',
      values: metric.mid, low: metric.low, high: metric.high},
    ...metric.nodes.map(({name, of, mid, low, high}) => ({
      name: of > 1 ? `${name}: median of ${members(metric, of)}` : name,
      values: mid, low, high})),
    ...metric.out,
  ];
}

const legendOf = (metric, look) =>
  legend(look.theme, linesOf(metric).map(line => line.name), look);

// The band's parts: gaps stay gaps.
function bandOf(line) {
  const parts = [];
  let part = [];
  line.low.forEach((low, slice) => {
    if (low === null) {
      if (part.length) parts.push(part);
      part = [];
    } else {
      part.push(slice);
    }
  });
  return part.length ? [...parts, part] : parts;
}

function drawBand(data, line, colour) {
  return (params, api) => {
    if (params.dataIndex !== 0) return null;
    const edge = (slices, values) =>
      slices.map(slice => api.coord([middle(data, slice), values[slice]]));
    return {type: 'group', silent: true, children: bandOf(line).map(slices => ({
      type: 'polygon', silent: true, style: {fill: colour, opacity: 0.18},
      shape: {points: [...edge(slices, line.high),
        ...edge(slices, line.low).reverse()]},
    }))};
  };
}

// The end of the axis: all of a share, else a little more than the most.
function most(metric) {
  const values = linesOf(metric).flatMap(line => line.high ?? line.values);
  const top = Math.max(...values.filter(value => value !== null), 0);
  return metric.unit === 'share' && top > 0.3 ? Math.max(1, top) : undefined;
}

export const util = {
  zoom: true,
  has: data => data.slices > 1 && data.metrics.length > 0,
  // who stands out most is shown first
  controls: ({metrics}) => [{
    key: 'metric', label: 'Metric',
    options: metrics.map((metric, i) => ({metric, i}))
      .sort((a, b) => b.metric.score - a.metric.score || a.i - b.i)
      .map(({metric, i}) => [String(i), metricName(metric)]),
  }],
  height: (data, state, look) => (look.narrow ? 290 : 320) +
    legendOf(chosen(data, state), look).bottom,
  note(data, state) {
    const metric = chosen(data, state);
    const band = metric.of > BAND_FROM
      ? 'from the 5th to the 95th percentile' : 'from the least to the most';
    return `${metricName(metric)}: ${metric.help}. The band is ${band}` +
      `${restOf(metric) < metric.of ? ' of the others' : ''}` +
      `${metric.nodes.length ? ', and of each node that stands out' : ''}.`;
  },
  option(data, state, look) {
    const metric = chosen(data, state);
    const value = valueOf(metric.unit);
    const box = legendOf(metric, look);
    const all = linesOf(metric);
    const lines = all.map((line, i) => {
      const {color, symbol, dash} = seriesLook(look.theme, i);
      return {
        type: 'line', name: line.name, color, symbol, symbolSize: 5,
        showSymbol: data.slices < 31, z: i ? 4 : 3,
        lineStyle: {width: i ? 2.2 : 1.8, type: dash},
        data: line.values.map((v, slice) => [middle(data, slice), v, slice]),
        emphasis: {focus: 'series'},
      };
    });
    return {
      grid: {left: look.narrow ? 66 : 84, right: 16, top: box.bottom + 16,
        bottom: 70},
      legend: box.option,
      tooltip: tooltip(look.theme, ({seriesName, data: [, v, slice]}) =>
        tip(seriesName, [['time', us(sliceStart(data, slice) * 1e6)],
          ['value', value(v)],
          ['the others', `${value(metric.low[slice])} to ` +
            `${value(metric.high[slice])}`]]), {trigger: 'item'}),
      dataZoom: zoom(look.theme, state.zoom),
      xAxis: {...timeAxis(look.theme, data), name: 'time since the first sample'},
      yAxis: valueAxis(look.theme, value, {min: 0, max: most(metric)}),
      series: [...lines, ...all.filter(line => line.low).map((line, i) => ({
        type: 'custom', name: line.name, color: seriesLook(look.theme, i).color,
        z: 1, clip: true, silent: true, tooltip: {show: false},
        data: line.low.map((low, slice) => [middle(data, slice), low ?? 0]),
        renderItem: drawBand(data, line, seriesLook(look.theme, i).color),
      }))],
    };
  },
};
