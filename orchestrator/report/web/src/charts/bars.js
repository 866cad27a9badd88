// bars.js - wait caused and suffered, a bar a rank or node.
import {legend, namesAxis, valueAxis} from '../axes.js';
import {count, percent, shorten, tick, us} from '../format.js';
import {labelRoom} from '../heat.js';
import {tip, tooltip} from '../tip.js';

const [WHO, WHERE, CAUSED, WAITED, LAST, NAMED] = [0, 1, 2, 3, 4, 5];

export function bars(what) {
  // A node's row is [host, processes, ...].
  const nameOf = row => (what === 'node' ? row[0]
    : `${row[WHO] === null ? '' : row[WHO]} ${row[WHERE]}`.trim());
  const title = row => (what === 'node' ? `${row[0]}, ${count(row[1])} ranks`
    : `rank ${nameOf(row)}`);
  const label = row => (row[NAMED] ? `\u25b6 ${nameOf(row)}` : nameOf(row));

  return {
    patterns: true,
    has: data => data.rows.some(row => row[CAUSED] > 0 || row[WAITED] > 0),
    height: data => 62 + data.rows.length * 20,
    note: data => [data.of > data.rows.length
      ? `The ${data.rows.length} of ${count(data.of)} ${what}s for which the ` +
        'others waited longest.' : '', data.rows.some(row => row[NAMED])
      ? `\u25b6: named in the findings, late on its own. Who waited for it ` +
        'comes late elsewhere, where others wait in turn.' : '',
    ].filter(Boolean).join(' '),
    option(data, state, look) {
      const names = data.rows.map(label);
      const room = labelRoom(names, look);
      const known = data.rows.some(row => row[WAITED] !== null);
      const series = [['The others waited for it', CAUSED, 1]];
      if (known) series.push(['It waited for others', WAITED, 0]);
      const box = legend(look.theme, series.map(([name]) => name), look);
      const formatter = ([{dataIndex}]) => {
        const row = data.rows[dataIndex];
        return tip(title(row), [
          ['the others waited for it', us(row[CAUSED])],
          ['it waited for others', us(row[WAITED])],
          ['arrived last', row[LAST] === null ? '-' : percent(row[LAST])]]);
      };
      return {
        grid: {left: room.width, right: 24, top: box.bottom + 4, bottom: 26},
        legend: box.option,
        tooltip: tooltip(look.theme, formatter,
          {trigger: 'axis', axisPointer: {type: 'shadow'}}),
        xAxis: valueAxis(look.theme, tick, {splitNumber: look.narrow ? 3 : 6}),
        yAxis: namesAxis(look.theme, names,
          name => shorten(name, room.characters),
          {inverse: true, axisLabel: {interval: 0, color: look.theme.soft,
            fontSize: look.most < this.height(data) ? 9.5 : 11.5,
            formatter: n => shorten(n, room.characters)}}),
        series: series.map(([name, key, colour]) => ({
          type: 'bar', name, data: data.rows.map(row => row[key]),
          color: look.theme.series[colour], barGap: '10%',
          barCategoryGap: '28%'})),
      };
    },
  };
}
