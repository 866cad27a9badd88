// p2p.js - a matrix of who sends how much to whom, or how fast.
import {namesAxis} from '../axes.js';
import {bytes, count, gbs, shorten} from '../format.js';
import {pointedAt, labelRoom, scale, unflatten} from '../heat.js';
import {tip, tooltip} from '../tip.js';

const [FROM, TO, BYTES, US] = [0, 1, 2, 3];

// Of the recorded time: 1e9 bytes a second.
const speed = cell => (cell[US] > 0 ? cell[BYTES] / cell[US] / 1e3 : null);

// Square cells as far as the page is wide, and paper high.
const cellSize = (n, look) => Math.min((look.most - 160) / n,
  Math.max(look.narrow ? 5 : 9, Math.min(30, (look.width - 250) / n)));

export const p2p = {
  has: data => data.cells.length > 0,
  controls: () => [{key: 'what', label: 'Show',
    options: [['bytes', 'data'], ['speed', 'GB/s']]}],
  height(data, state, look) {
    const room = labelRoom(data.names, look);
    return 40 + Math.min(room.width, 120) +
      data.names.length * cellSize(data.names.length, look);
  },
  note: data => (data.of > data.names.length
    ? `The ${data.names.length} of ${count(data.of)} ${data.by}s with most data.`
    : '') + ' Speed is data over the time that the operations took, waiting ' +
    'included.',
  option(data, state, look) {
    const {names} = data;
    const cells = unflatten(data.cells, 4);
    const room = labelRoom(names, look);
    const fast = state.what === 'speed';
    const shown = cells
      .map(c => [c[TO], c[FROM], fast ? speed(c) : c[BYTES], c])
      .filter(c => c[2] !== null);
    const format = fast ? gbs : bytes;
    const formatter = ({data: [, , , c]}) => tip(
      `${names[c[FROM]]} to ${names[c[TO]]}`, [['data', bytes(c[BYTES])],
        ['speed', speed(c) === null ? '-' : gbs(speed(c))]]);
    const side = names.length * cellSize(names.length, look);
    const label = name => shorten(name, room.characters);
    return {
      grid: {left: room.width, width: Math.min(side, look.width - room.width - 12),
        top: 34, height: side},
      tooltip: tooltip(look.theme, formatter),
      visualMap: scale(look.theme, {min: 0,
        max: Math.max(...shown.map(c => c[2]), Number.MIN_VALUE),
        colours: look.theme.heat, formatter: format}),
      xAxis: namesAxis(look.theme, names, label, {name: 'to',
        axisLabel: {rotate: 90, fontSize: 11, color: look.theme.soft,
          formatter: name => shorten(name, Math.min(room.characters, 15))}}),
      yAxis: namesAxis(look.theme, names, label, {name: 'from', inverse: true,
        nameLocation: 'start'}),
      series: [{type: 'heatmap', data: shown, progressive: 0,
        emphasis: pointedAt(look.theme)}],
    };
  },
};
