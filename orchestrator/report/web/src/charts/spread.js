// spread.js - one kind of operation as histogram or cumulative share; all of
// them as boxes.
import {gbsAxis, namesAxis, valueAxis} from '../axes.js';
import {cellNames, count, gbs, percent, plain, short, shorten} from '../format.js';
import {labelRoom} from '../heat.js';
import {functionHex} from '../theme.js';
import {tip, tooltip} from '../tip.js';

const [LEAST, P5, P25, P50, P75, P95, MOST] = [0, 1, 2, 3, 4, 5, 6];

// A line at a percentile.
const mark = (theme, name, value) => ({
  xAxis: value, name, lineStyle: {color: theme.text, type: 'dashed', width: 1},
  label: {formatter: name, color: theme.text, fontSize: 11, position: 'end'}});
const marks = (theme, box) => ({silent: true, symbol: 'none', animation: false,
  data: box[P5] === box[P95] ? [mark(theme, 'p5 to p95', box[P50])]
    : [mark(theme, 'p5', box[P5]), mark(theme, 'p50', box[P50]),
      mark(theme, 'p95', box[P95])]});

// Around the values, not from 0: the shape is what matters here.
function spreadAxis(theme, box) {
  const margin = (box[MOST] - box[LEAST]) * 0.04 || box[MOST] * 0.1 || 1;
  return valueAxis(theme, short, {
    name: 'GB/s', nameLocation: 'middle', nameGap: 24, scale: true,
    min: Math.max(0, box[LEAST] - margin), max: box[MOST] + margin,
    splitNumber: 6,
    axisLabel: {showMinLabel: false, showMaxLabel: false, hideOverlap: true,
      color: theme.soft, fontSize: 11.5, formatter: short}});
}

function histogram(c, look) {
  const {from, width, counts} = c.hist;
  const bars = counts.map((n, i) => [from + i * width, from + (i + 1) * width, n]);
  const formatter = ({data: [low, high, n]}) => tip(
    `${plain(low)} to ${gbs(high)}`, [['operations', count(n)],
      ['of all', percent(n / c.sample)]]);
  const renderItem = (params, api) => {
    const [x, y] = api.coord([api.value(0), api.value(2)]);
    const [right, bottom] = api.coord([api.value(1), 0]);
    // all values may be one
    const [left, wide] = right > x ? [x, right - x - 1] : [x - 10, 20];
    return {type: 'rect', style: {fill: functionHex(look.theme, c.coll)},
      shape: {x: left, y, width: Math.max(1, wide), height: bottom - y}};
  };
  return {
    grid: {left: 62, right: 20, top: 34, bottom: 44},
    tooltip: tooltip(look.theme, formatter),
    xAxis: spreadAxis(look.theme, c.box),
    yAxis: valueAxis(look.theme, count, {name: 'operations'}),
    series: [{type: 'custom', data: bars, renderItem, encode: {x: [0, 1], y: 2},
      markLine: marks(look.theme, c.box)}],
  };
}

function cumulative(c, look) {
  const points = c.ecdf.map((value, i) => [value, i / (c.ecdf.length - 1)]);
  const formatter = ([{data: [value, share]}]) => tip(
    gbs(value), [['as fast or slower', percent(share)]]);
  return {
    grid: {left: 62, right: 20, top: 34, bottom: 44},
    tooltip: tooltip(look.theme, formatter, {trigger: 'axis'}),
    xAxis: spreadAxis(look.theme, c.box),
    yAxis: valueAxis(look.theme, percent, {name: 'share', min: 0, max: 1}),
    series: [{type: 'line', step: 'end', showSymbol: false, data: points,
      color: functionHex(look.theme, c.coll), lineStyle: {width: 2},
      markLine: marks(look.theme, c.box)}],
  };
}

function boxes(cells, look) {
  const names = cellNames(cells);
  const room = labelRoom(names, {...look, narrow: look.narrow});
  const formatter = ({dataIndex}) => {
    const c = cells[dataIndex];
    return tip(names[dataIndex], [['most', gbs(c.box[MOST])],
      ['95th percentile', gbs(c.box[P95])], ['3rd quartile', gbs(c.box[P75])],
      ['median', gbs(c.box[P50])], ['1st quartile', gbs(c.box[P25])],
      ['5th percentile', gbs(c.box[P5])], ['least', gbs(c.box[LEAST])],
      ['operations', count(c.n)]]);
  };
  const colours = cells.map(c => functionHex(look.theme, c.coll));
  return {
    grid: {left: room.width, right: 24, top: 12, bottom: 44},
    tooltip: tooltip(look.theme, formatter),
    xAxis: gbsAxis(look.theme, cells.flatMap(c => c.box),
      {nameLocation: 'middle', nameGap: 24}),
    yAxis: namesAxis(look.theme, names, name => shorten(name, room.characters),
      {inverse: true}),
    series: [{
      type: 'boxplot', boxWidth: [8, 16],
      data: cells.map((c, i) => ({value: c.box.slice(P5, MOST), itemStyle: {
        color: `${colours[i]}44`, borderColor: colours[i], borderWidth: 1.5}})),
    }, {
      type: 'scatter', symbol: 'emptyCircle', symbolSize: 5,
      data: cells.flatMap((c, i) => [c.box[LEAST], c.box[MOST]].map(v => ({
        value: [v, i], itemStyle: {color: colours[i]}}))),
      tooltip: {formatter: ({value: [value, i]}) => tip(names[i],
        [['least or most', gbs(value)]])},
    }],
  };
}

const operations = c => (c.sample < c.n
  ? `A sample of ${count(c.sample)} of ${count(c.n)} operations.`
  : `${count(c.n)} operations.`);

export const spread = {
  has: data => data.cells.length > 0,
  controls: data => [{
    key: 'view', label: 'As', options: [['histogram', 'histogram'],
      ['cumulative', 'cumulative share'], ['boxes', 'boxes, all kinds']],
  }, {
    key: 'which', label: 'Of', idle: state => state.view === 'boxes',
    options: cellNames(data.cells).map((name, i) => [String(i), name]),
  }],
  height: (data, state) =>
    (state.view === 'boxes' ? 70 + 30 * data.cells.length : 320),
  note(data, state) {
    const what = state.view === 'boxes'
      ? 'Box: quartiles and median; whiskers: 5th and 95th percentile; circles: ' +
        'least and most.'
      : operations(data.cells[state.which]);
    return data.of > data.cells.length
      ? `${what} The ${data.cells.length} of ${count(data.of)} kinds with most ` +
        'time.' : what;
  },
  option(data, state, look) {
    if (state.view === 'boxes') return boxes(data.cells, look);
    const c = data.cells[state.which];
    return state.view === 'histogram' ? histogram(c, look) : cumulative(c, look);
  },
};
