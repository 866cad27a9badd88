// axes.js - axes, zoom and legend in the page's look.
import {bytes, short, tick} from './format.js';

function look(theme) {
  return {
    axisLine: {show: true, lineStyle: {color: theme.line}},
    axisTick: {lineStyle: {color: theme.line}},
    axisLabel: {color: theme.soft, fontFamily: theme.font, fontSize: 11.5,
      hideOverlap: true},
    splitLine: {lineStyle: {color: theme.line, opacity: 0.7}},
    minorTick: {show: false},
    minorSplitLine: {show: false},
    nameTextStyle: {color: theme.soft, fontFamily: theme.font, fontSize: 11.5},
  };
}

function withLabel(axis, formatter) {
  return {...axis, axisLabel: {...axis.axisLabel, formatter}};
}

// How far apart values may be before an axis becomes logarithmic.
const WIDE = 20;

export function isWide(values) {
  const positive = values.filter(v => v > 0);
  return positive.length > 0 &&
    Math.max(...positive) > WIDE * Math.min(...positive);
}

// The end of an axis that holds all values, with a little room.
function roundUp(values) {
  const most = 1.02 * Math.max(...values, 0);
  if (!(most > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find(n => n * unit >= most) * unit;
}

// GB/s; log where `values` are far apart.
export function gbsAxis(theme, values, more = {}) {
  const axis = withLabel(look(theme), short);
  if (!isWide(values))
    return {type: 'value', name: 'GB/s', min: 0, max: roundUp(values), ...axis,
      ...more};
  const positive = values.filter(v => v > 0);
  return {
    type: 'log', name: 'GB/s', logBase: 10,
    min: 10 ** Math.floor(Math.log10(Math.min(...positive))),
    max: 10 ** Math.ceil(Math.log10(Math.max(...positive))),
    ...axis, ...more,
  };
}

// Message sizes as powers of two: a linear axis of exponents, as ECharts labels
// a logarithmic one of base 2 by the thousand only.
export const exponent = size => Math.log2(Math.max(size, 1));

export function sizeAxis(theme, sizes, width) {
  const exponents = sizes.map(exponent);
  const min = Math.floor(Math.min(...exponents) - 0.5);
  const max = Math.ceil(Math.max(...exponents) + 0.5);
  return {
    type: 'value', name: 'message size', nameLocation: 'middle', nameGap: 26,
    min, max, interval: Math.ceil(64 * (max - min) / width) || 1,
    ...withLabel(look(theme), e => bytes(2 ** e)),
  };
}

// Seconds since the first record, for slices of `d`.
export const sliceStart = (d, slice) => slice * d.width / 1e6;

export function timeAxis(theme, d) {
  // labels of the narrowest window are not closer than this
  const step = d.slices * d.width * LEAST / 100 / 10;
  return {
    type: 'value', min: 0, max: d.slices * d.width / 1e6,
    name: 'time since the first record', nameLocation: 'middle', nameGap: 24,
    ...withLabel(look(theme), seconds => tick(seconds * 1e6, step)),
  };
}

// The same as a category an slice, for heat maps.
export function sliceAxis(theme, d) {
  return {
    type: 'category',
    data: Array.from({length: d.slices}, (_, i) => sliceStart(d, i)),
    name: 'time since the first record', nameLocation: 'middle', nameGap: 24,
    ...withLabel(look(theme), seconds => tick(seconds * 1e6, d.width)),
    splitLine: {show: false},
  };
}

export function valueAxis(theme, formatter, more = {}) {
  return {type: 'value', ...withLabel(look(theme), formatter), ...more};
}

export function namesAxis(theme, names, formatter, more = {}) {
  return {
    type: 'category', data: names,
    ...withLabel(look(theme), formatter ?? (name => name)),
    splitLine: {show: false}, axisTick: {show: false}, ...more,
  };
}

// The narrowest window, in percent of the axis.
export const LEAST = 2;

// Zoom along x by wheel with Ctrl, drag on the bar, or keys (chart.js).
export function zoom(theme, window) {
  return [
    {type: 'inside', zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false,
      filterMode: 'none', minSpan: LEAST, ...window},
    {type: 'slider', height: 18, bottom: 4, filterMode: 'none', minSpan: LEAST,
      showDetail: false, brushSelect: false, borderColor: theme.line,
      fillerColor: `${theme.soft}33`, backgroundColor: 'transparent',
      dataBackground: {lineStyle: {opacity: 0}, areaStyle: {opacity: 0}},
      selectedDataBackground: {
        lineStyle: {opacity: 0}, areaStyle: {opacity: 0}},
      handleStyle: {color: theme.card, borderColor: theme.soft},
      moveHandleStyle: {color: theme.soft}, ...window},
  ];
}

// A wrapped legend and, for the grid, where it ends.
export function legend(theme, names, look) {
  const lines = names.reduce(([line, x], name) => {
    const width = 40 + 6.4 * name.length;
    return x + width > look.width && x > 0 ? [line + 1, width]
      : [line, x + width];
  }, [1, 0])[0];
  return {
    bottom: lines * 26 - 2,
    option: {
      top: 0, left: 0, right: 0, data: names, itemWidth: 22, itemHeight: 9,
      itemGap: 14, inactiveColor: theme.soft,
      textStyle: {color: theme.text, fontFamily: theme.font, fontSize: 12},
    },
  };
}
