// pictures.mjs - what pictures.test asks of its pages, in the folder that it gets.
import {Browser} from './browser.mjs';

const folder = process.argv[2];
let n = 0, failed = false;
function ok(good, what, ...seen) {
  console.log(`${good ? 'ok' : 'not ok'} ${++n} - ${what}`);
  if (!good) {
    failed = true;
    console.log(`# ${seen.map(s => JSON.stringify(s)).join('\n# ')}`);
  }
}

const b = await Browser.open();
await b.look(1280, 900);
await b.goto(`${folder}/kinds.html`);
// a shape a line: "rect col hit 0 0 50 1"
const drawn = await b.eval(`[...document.querySelectorAll('[data-picture]')].map(place =>
  [...place.querySelectorAll('rect, line, path, polyline, circle, text')].map(e => [e.tagName,
    e.getAttribute('class') || e.parentNode.getAttribute('class') || '',
    ...['x', 'x1', 'x2', 'y', 'y1', 'y2', 'cx', 'cy', 'width', 'height', 'd', 'points']
      .map(name => e.getAttribute(name)).filter(value => value !== null)
      .map(value => (isNaN(value) ? value : String(Math.round(1000 * value) / 1000))),
    e.tagName === 'text' ? e.textContent : ''].join(' ').replace(/ +/g, ' ').trim()))`);
const wanted = [
  ['a bar of two parts', ['rect col 0 0 50 1', 'rect col miss 50 0 25 1']],
  ['ticks from the start to the end', ['rect col hit 1 0 1 1', 'rect col hit 50 0 1 1',
    'rect col hit 99 0 1 1']],
  ['ticks of no time', ['rect col 1 0 0.6 1']],
  ['a narrow interval can be seen, and the longest run', ['rect h2 50 2 0.3 6',
    'rect h4 0 0 0.4 10', 'rect h4 99.6 0 0.4 10']],
  ['runs that are alike, without an interval', ['rect h4 50 0 0.4 10']],
  ['levels of a strip, neighbours as one', ['rect h1 2 0 1 1', 'rect h2 4 0 2 1',
    'rect h3 6 0 1 1', 'rect h4 7 0 3 1']],
  ['columns, the marked one, the line', ['rect col 0.1 5 0.8 95', 'rect col hit 1.1 52.5 0.8 47.5',
    'line base 0 4 5 5']],
  ['columns with a limit', ['rect col 0.1 5 0.8 95', 'line limit 1.5 1.5 0 100']],
  ['a course: band, middle, change, medians', ['rect band 0 70 3 10', 'line base 0 3 75 75',
    'line limit 2.5 2.5 0 100', 'path series M0.5 0L1.5 50L2.5 100']],
  ['a course without what is not known', ['path others M0.5 99L1.5 98', 'path series M0.5 90']],
  ['verdicts of steps', ['rect SLOW 0 1 19 19', 'text SLOW 9 16 S', 'rect NODATA 22 1 19 19',
    'text NODATA 31 16 ?']],
  ['a trend, without a step that has no value', ['path trend M0 38 H360', 'polyline trend 6,6 354,22',
    'circle OK 6 6', 'circle SLOW 354 22']],
];
wanted.forEach(([what, shapes], i) => {
  ok(JSON.stringify(drawn[i]) === JSON.stringify(shapes), what, drawn[i], shapes);
});
ok(await b.eval(`document.querySelectorAll('svg[role=img][aria-label]').length === 2 &&
  document.querySelectorAll('svg[aria-hidden=true]').length === ${wanted.length - 2} &&
  document.querySelector('circle title').textContent === 'step 0'`),
'pictures of their own have words, those beside text are left out');

const pages = ['late', 'link', 'dies', 'clean', 'job/step-failed'].map(p => `${p}/report.html`);
for (const page of [...pages, 'job/index.html']) {
  const seen = {};
  for (const [width, dark] of [[1280, false], [390, true]]) {
    await b.look(width, 900, dark);
    await b.goto(`${folder}/${page}`);
    seen[width] = await b.eval(`[...document.querySelectorAll('[data-picture]')].map(place => {
      const {width, height} = place.querySelector('svg').getBoundingClientRect();
      return width > 60 && height > 10 && width < 1280; })`);
    seen.fits = await b.eval('document.documentElement.scrollWidth <= innerWidth');
  }
  ok(seen[1280].length > 0 && [...seen[1280], ...seen[390]].every(Boolean) && seen.fits,
    `${page}: each of ${seen[1280].length} pictures is drawn, wide and narrow`, seen);
}
// colours are those of the page: a mark is red, in the dark another red
const mark = () => b.eval(`getComputedStyle(document.querySelector('.proof rect.hit')).fill`);
await b.look(1280, 900);
await b.goto(`${folder}/dies/report.html`);
const light = await mark();
await b.look(1280, 900, true);
const dark = await mark();
ok(/^rgb/.test(light) && /^rgb/.test(dark) && light !== dark, 'a mark follows light and dark', light, dark);

await b.goto(`${folder}/bare.html`);
ok(await b.eval(`document.querySelectorAll('figure.proof .row').length > 1 &&
  !document.querySelector('figure.proof svg, figure.proof .cells') &&
  document.querySelector('figure.proof .row.hit .num').textContent.length > 3`),
'without JavaScript: names and figures, no empty strip that would read as "on time"');
ok(b.messages.length === 0, 'no messages on the console', b.messages);
await b.close();
console.log(`1..${n}`);
process.exit(failed ? 1 : 0);
