// levels.js - members of a tree by their level, a dot each: side by side within
// the level, over the time that something takes on them.
import {legend, valueAxis} from '../axes.js';
import {count, us} from '../format.js';
import {seriesLook} from '../theme.js';
import {tip, tooltip} from '../tip.js';

const [WHERE, US, LEVEL, SLOW] = [0, 1, 2, 3];

const nameOf = level => (level < 0 ? 'level unknown' : `level ${level}`);

// Rows with their place on the axis: within 0.4 of the level.
function placed(rows) {
  const all = new Map(), seen = new Map();
  for (const row of rows) all.set(row[LEVEL], (all.get(row[LEVEL]) ?? 0) + 1);
  return rows.map(row => {
    const at = seen.get(row[LEVEL]) ?? 0;
    seen.set(row[LEVEL], at + 1);
    return [row[LEVEL] + 0.8 * (at + 0.5) / all.get(row[LEVEL]) - 0.4, row[US],
      row];
  });
}

const formatter = ({data: [, , row]}) => tip(row[WHERE], [
  ['time', us(row[US])], ['in the tree', nameOf(row[LEVEL])],
  ...row[SLOW] ? [['', 'slower than others of its level']] : []]);

const kinds = [['as others of its level', 0], ['slower than others of its level', 1]];

export const levels = {
  has: data => data.rows.length > 0,
  height: (data, state, look) => (look.narrow ? 280 : 300),
  note: data => 'A dot is one rank; levels differ by design.' +
    (data.of > data.rows.length
      ? ` ${count(data.rows.length)} of ${count(data.of)} ranks, every few of ` +
        'them; the slow ones are all here.' : ''),
  option(data, state, look) {
    const used = kinds.filter(([, slow]) =>
      data.rows.some(row => row[SLOW] === slow));
    const box = legend(look.theme, used.map(([name]) => name), look);
    const at = data.rows.map(row => row[LEVEL]);
    const dots = placed(data.rows);
    return {
      grid: {left: 62, right: 16, top: box.bottom + 26, bottom: 30},
      legend: box.option,
      tooltip: tooltip(look.theme, formatter, {trigger: 'item'}),
      xAxis: valueAxis(look.theme, level => (Number.isInteger(level)
        ? nameOf(level) : ''), {min: Math.min(...at) - 0.5,
        max: Math.max(...at) + 0.5, interval: 0.5, splitLine: {show: false},
        axisTick: {show: false}}),
      // the root's dot stands at 0, where the axis would be
      yAxis: valueAxis(look.theme, us, {min: 0,
        axisLine: {onZero: false, lineStyle: {color: look.theme.line}}}),
      series: used.map(([name, slow]) => ({type: 'scatter', name,
        color: slow ? look.theme.bad : seriesLook(look.theme, 0).color,
        symbol: slow ? 'diamond' : 'circle', symbolSize: slow ? 11 : 6,
        data: dots.filter(([, , row]) => row[SLOW] === slow), z: 2 + slow})),
    };
  },
};
