// snapshots.js - a counter of each rank at its snapshots: a line a rank. All are
// one series, because there may be a thousand.
import {valueAxis} from '../axes.js';
import {count, tick, us} from '../format.js';
import {unflatten} from '../heat.js';
import {seriesLook} from '../theme.js';
import {tip, tooltip} from '../tip.js';

const [US, OPS] = [0, 1];

const formatter = ({data: [, , name, p]}) => tip(name, [
  ['since the first snapshot', us(p[US])], ['operations so far', count(p[OPS])]]);

export const snapshots = {
  has: data => data.series.length > 0,
  height: (data, state, look) => (look.narrow ? 260 : 280),
  note: data => `A line is one of ${count(data.series.length)} ranks.`,
  option(data, state, look) {
    const {color} = seriesLook(look.theme, 0);
    return {
      grid: {left: 72, right: 16, top: 12, bottom: 44},
      tooltip: tooltip(look.theme, formatter, {trigger: 'item'}),
      xAxis: valueAxis(look.theme, tick, {min: 0, max: 'dataMax',
        name: 'time since the first snapshot', nameLocation: 'middle',
        nameGap: 24}),
      yAxis: valueAxis(look.theme, count, {min: 0}),
      series: [{type: 'line', color, symbol: 'circle', symbolSize: 4,
        lineStyle: {width: 1.5, opacity: 0.7},
        // a gap ends a rank's line
        data: data.series.flatMap(({host, points}) =>
          [...unflatten(points, 2).map(p => [p[US], p[OPS], host, p]),
            [null, null]])}],
    };
  },
};
