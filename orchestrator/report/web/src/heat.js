// heat.js - what the heat maps share.
import {namesAxis, sliceAxis, zoom} from './axes.js';
import {shorten} from './format.js';
import {tooltip} from './tip.js';

// The figures come flat, [row, column, value..., row, column, value...].
export function unflatten(list, size) {
  const rows = [];
  for (let i = 0; i + size <= list.length; i += size)
    rows.push(list.slice(i, i + size));
  return rows;
}

// Room for labels at the left and how many characters fit there.
export function labelRoom(names, look) {
  const most = look.narrow ? 88 : 250;
  const longest = names.reduce((n, name) => Math.max(n, name.length), 1);
  const width = Math.min(most, 14 + 6.7 * longest);
  return {width, characters: Math.max(4, Math.round((width - 14) / 6.7))};
}

// A row's height: each has its label.
export const rowHeight = rows => (rows > 16 ? 15 : 20);

export function scale(theme, {min, max, colours, formatter, dimension = 2}) {
  return {
    type: 'continuous', min, max, dimension, calculable: false,
    orient: 'horizontal', right: 8, top: 0, itemWidth: 10, itemHeight: 120,
    inRange: {color: colours}, formatter,
    text: [formatter(max), formatter(min)],
    textStyle: {color: theme.text, fontFamily: theme.font, fontSize: 12},
  };
}

// The cell that is pointed at keeps its colour, which is its value; a frame
// marks it.
export const pointedAt = theme => ({itemStyle: {color: 'inherit',
  borderColor: theme.text, borderWidth: 1.5}});

// Names by slice of time: cells are [row, slice, value].
export function overTime(data, state, look, {names, cells, max, formatter, tip}) {
  const room = labelRoom(names, look);
  return {
    grid: {show: true, borderWidth: 0, backgroundColor: look.theme.heat[0],
      left: room.width, right: 12, top: 34, bottom: 66},
    tooltip: tooltip(look.theme, tip),
    dataZoom: zoom(look.theme, state.zoom),
    visualMap: scale(look.theme, {min: 0, max, colours: look.theme.heat,
      formatter}),
    xAxis: sliceAxis(look.theme, data),
    yAxis: namesAxis(look.theme, names,
      name => shorten(name, room.characters), {inverse: true}),
    series: [{type: 'heatmap', data: cells.map(([r, s, v]) => [s, r, v]),
      progressive: 0, itemStyle: {borderWidth: 0},
      emphasis: pointedAt(look.theme)}],
  };
}
