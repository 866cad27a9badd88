// drift.js - a strip a communicator: its bandwidth against its usual one.
import {namesAxis, sliceAxis, sliceStart, zoom} from '../axes.js';
import {count, shorten, us} from '../format.js';
import {pointedAt, labelRoom, rowHeight, scale, unflatten} from '../heat.js';
import {tip, tooltip} from '../tip.js';

// Names are shared by communicators; the end of an id is not.
const nameOf = row => `${row.name || row.id} ${row.name ? row.id.slice(-4) : ''}`
  .trim();
const signed = value => `${value > 0 ? '+' : value < 0 ? '\u2212' : ''}` +
  `${Math.abs(value)} %`;

// What is off by less than this needs no colour.
const LEAST_SPAN = 10;

export const drift = {
  zoom: true,
  has: data => data.slices > 1 && data.cells.length > 0,
  height: data => 104 + data.rows.length * rowHeight(data.rows.length),
  note: data => 'Usual: the median over the run, of the same function and ' +
    'size, by the rank that came last.' + (data.of > data.rows.length
    ? ` The ${data.rows.length} of ${count(data.of)} communicators with most ` +
      'time.'
    : ''),
  option(data, state, look) {
    const names = data.rows.map(nameOf);
    const cells = unflatten(data.cells, 3);
    const room = labelRoom(names, look);
    const span = Math.min(100, Math.max(LEAST_SPAN,
      ...cells.map(c => Math.abs(c[2]))));
    const formatter = ({data: [slice, row, off]}) => tip(names[row], [
      ['type', data.rows[row].type],
      ['time', us(sliceStart(data, slice) * 1e6)], ['off by', signed(off)]]);
    return {
      grid: {left: room.width, right: 12, top: 34, bottom: 66},
      tooltip: tooltip(look.theme, formatter),
      dataZoom: zoom(look.theme, state.zoom),
      visualMap: scale(look.theme, {min: -span, max: span,
        colours: look.theme.off, formatter: v => signed(Math.round(v))}),
      xAxis: sliceAxis(look.theme, data),
      yAxis: namesAxis(look.theme, names,
        name => shorten(name, room.characters), {inverse: true}),
      series: [{type: 'heatmap', data: cells.map(([r, s, v]) => [s, r, v]),
        progressive: 0, itemStyle: {borderWidth: 0},
        emphasis: pointedAt(look.theme)}],
    };
  },
};
