// main.js - draw every chart of the page that has figures.
import {Chart} from './chart.js';
import {levels} from './charts/levels.js';
import {snapshots} from './charts/snapshots.js';
import {drift} from './charts/drift.js';
import {busy} from './charts/busy.js';
import {bars} from './charts/bars.js';
import {p2p} from './charts/p2p.js';
import {busbwSize} from './charts/busbw-size.js';
import {busbwTime} from './charts/busbw-time.js';
import {networkSize} from './charts/network-size.js';
import {numbers} from './charts/numbers.js';
import {sizes} from './charts/sizes.js';
import {spread} from './charts/spread.js';
import {util} from './charts/util.js';
import {utilTime} from './charts/util-time.js';
import {waitsTime} from './charts/waits-time.js';
import {addTimeline} from './timeline/timeline.js';

// By name, as in orchestrator/report/charts.c and the charts of features.
const kinds = {
  'busbw-size': busbwSize,
  'busbw-time': busbwTime,
  busy,
  drift,
  levels,
  'network-size': networkSize,
  nodes: bars('node'),
  numbers,
  p2p,
  sizes,
  snapshots,
  spread,
  util,
  'util-time': utilTime,
  waits: bars('rank'),
  'waits-time': waitsTime,
};

const data = JSON.parse(new TextDecoder().decode(window.jobprof.inflate(
  document.getElementById('chart-data').textContent)));
const charts = [];

document.documentElement.classList.add('drawn');
for (const figure of document.querySelectorAll('figure.chart')) {
  const kind = kinds[figure.dataset.chart];
  const figures = data[figure.dataset.chart];
  if (kind && figures && kind.has(figures))
    charts.push(new Chart(figure, kind, figures));
  else
    figure.remove();
}
window.jobprof.timeline = addTimeline();
window.jobprof.onFilter(filter => {
  for (const chart of charts) chart.narrow(filter);
});
// A section of charts without one has nothing to say.
for (const section of document.querySelectorAll('section.charts'))
  if (!section.querySelector('figure')) {
    document.querySelector(`li.charts a[href="#${section.id}"]`)
      ?.parentElement.remove();
    section.remove();
  }

const redraw = () => charts.forEach(chart => chart.draw());
window.addEventListener('themechange', redraw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
// A4 with usual margins; an SVG of the window's width would be cut.
window.addEventListener('beforeprint',
  () => charts.forEach(chart => chart.print(680)));
window.addEventListener('afterprint',
  () => charts.forEach(chart => chart.print(undefined)));
