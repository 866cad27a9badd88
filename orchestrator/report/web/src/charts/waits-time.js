// waits-time.js - when the others waited for which rank, or node.
import {namesAxis, sliceAxis, sliceStart, zoom} from '../axes.js';
import {count, shorten, us} from '../format.js';
import {labelRoom, rowHeight, scale, unflatten} from '../heat.js';
import {tip, tooltip} from '../tip.js';

export const waitsTime = {
  zoom: true,
  has: data => data.ranks.cells.length > 0,
  controls: data => [{
    key: 'by', label: 'By',
    options: data.nodes.of > 1 ? [['ranks', 'rank'], ['nodes', 'node']]
      : [['ranks', 'rank']],
  }],
  height(data, state) {
    const rows = data[state.by].names.length;
    return 104 + rows * rowHeight(rows);
  },
  note(data, state) {
    const {names, of} = data[state.by];
    return of > names.length
      ? `The ${names.length} of ${count(of)} ${state.by} for which the others ` +
        'waited longest.'
      : '';
  },
  option(data, state, look) {
    const {names, cells: flat} = data[state.by];
    const cells = unflatten(flat, 3);
    const room = labelRoom(names, look);
    const max = Math.max(1, ...cells.map(c => c[2]));
    const formatter = ({data: [slice, row, waited]}) => tip(names[row], [
      ['time', us(sliceStart(data, slice) * 1e6)],
      ['the others waited', us(waited)]]);
    return {
      grid: {show: true, borderWidth: 0,
        backgroundColor: look.theme.heat[0], left: room.width, right: 12, top: 34, bottom: 66},
      tooltip: tooltip(look.theme, formatter),
      dataZoom: zoom(look.theme, state.zoom),
      visualMap: scale(look.theme, {min: 0, max, colours: look.theme.heat,
        formatter: us}),
      xAxis: sliceAxis(look.theme, data),
      yAxis: namesAxis(look.theme, names,
        name => shorten(name, room.characters), {inverse: true}),
      series: [{type: 'heatmap', data: cells.map(([r, s, v]) => [s, r, v]),
        progressive: 0, itemStyle: {borderWidth: 0}}],
    };
  },
};
