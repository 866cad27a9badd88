// busbw-size.js - median bandwidth over message size, with its band.
import {gbs} from '../format.js';
import {unflatten} from '../heat.js';
import {P5, P50, P95, sizeChart} from '../size-chart.js';

const NET = 5;

export const busbwSize = sizeChart({
  linesOf: data => data.series.map(line => ({
    name: `${line.coll}, ${line.type}`, coll: line.coll, points: unflatten(line.points, 6)})),
  details: p => [['by the last rank', p[NET] === null ? '-' : gbs(p[NET])]],
  values: p => [p[P5], p[P50], p[P95]],
  note: () => 'The band holds 90 % of the operations. By the last rank: ' +
    'without the others\u2019 waiting.',
});
