// timeline.mjs - the timeline, the page's filter, copies and sorting in a real
// browser, by mouse, touch and keys. Prints a line a check: "ok"/"not ok" WHAT.
//
// timeline.mjs SMALL LARGE LATE GOOD: reports of 16 and 1,024 ranks; the late
// rank; a report without a finding.
import {Browser, sleep} from './browser.mjs';

const [small, large, late, good] = process.argv.slice(2);
const b = await Browser.open();
const ok = (good, what, ...why) => console.log(
  `${good ? 'ok' : 'not ok'} ${what}${good ? '' : `\n# ${why.join(' ')}`}`);
const visible = 'row => !row.hidden';
// as a reader sees them: unfolded
const rows = id => b.eval(`(() => {
  document.querySelector('#${id} > details').open = true;
  return [...document.querySelector('#${id} table').tBodies[0].rows]
    .filter(${visible}).map(r => r.innerText);
})()`);
const open = () => b.eval(`document.querySelector('#timeline > details').open`);
// drawn, within the window, and what the keys reach
const shows = () => b.until(`(() => {
  const c = document.querySelector('figure.timeline canvas');
  const box = c.getBoundingClientRect();
  c.focus();
  return c.ariaLabel && c.checkVisibility() && box.width > 200 &&
    document.activeElement === c && jobprof.timeline.width === c.clientWidth &&
    box.top < innerHeight && box.bottom > 0;
})()`);
const settled = () => b.eval(`new Promise(done => requestAnimationFrame(() =>
  requestAnimationFrame(() => setTimeout(done, 60))))`);
const pixels = () => b.eval(
  `document.querySelector('figure.timeline canvas').toDataURL()`);
const label = () => b.eval(
  `document.querySelector('figure.timeline canvas').ariaLabel`);
const toTimeline = () => b.eval(`(() => {
  const c = document.querySelector('figure.timeline canvas');
  c.scrollIntoView({block: 'center', behavior: 'instant'});
  c.focus();
  const box = c.getBoundingClientRect();
  return {x: box.x, y: box.y, width: box.width, height: box.height};
})()`);
const ready = () => b.until(`!!document.querySelector('figure.timeline canvas')
  ?.ariaLabel`);

try {
  await b.look(1280, 900);
  await b.goto(small);
  ok(await ready(), 'the timeline is drawn');
  const box = await toTimeline();
  await settled();
  // What the figures say: in tensor-parallel operations its partner waits for
  // the late rank, which waits for nobody.
  const waits = await b.eval(`(() => {
    const data = JSON.parse(document.getElementById('timeline-data').textContent);
    const cells = jobprof.inflate(
      document.getElementById('timeline-cells').textContent);
    const n = data.rows.length * data.bins;
    const at = n * (data.wide ? 2 : 1);
    return Object.fromEntries(data.rows.map((row, r) => {
      let sum = 0;
      for (let i = r * data.bins; i < (r + 1) * data.bins; i++) {
        const kind = data.kinds[cells[i] - 1];
        if (kind?.[2] === 'ReduceScatter')
          sum += (cells[at + i] >> 4) * (cells[at + i] & 15);
      }
      return [row[1], sum];
    }));
  })()`);
  const partner = String(Number(late) ^ 1);
  ok(waits[partner] > 10 * waits[late] && Object.entries(waits).every(
    ([rank, sum]) => rank === partner || 4 * sum < waits[partner]),
  'the late rank\'s partner waits, as the figures have it', late,
  JSON.stringify(waits));

  // --- keys and mouse
  const whole = await label(), before = await pixels();
  await b.key('+');
  await settled();
  ok(await label() !== whole && await pixels() !== before, 'a key zooms');
  const zoomed = await label();
  await b.key('ArrowRight');
  await settled();
  ok(await label() !== zoomed, 'a key pans');
  await b.key('0');
  await settled();
  ok(await label() === whole && await pixels() === before,
    'and 0 shows all again');
  await b.mouse('mouseWheel', box.x + 500, box.y + 100,
    {deltaX: 0, deltaY: -400, modifiers: 2});
  await settled();
  const wheeled = await label();
  ok(wheeled !== whole, 'Ctrl and wheel zoom');
  const button = {button: 'left', buttons: 1, clickCount: 1};
  await b.mouse('mousePressed', box.x + 500, box.y + 100, button);
  await b.mouse('mouseMoved', box.x + 400, box.y + 100, button);
  await b.mouse('mouseReleased', box.x + 400, box.y + 100, button);
  await settled();
  ok(await label() !== wheeled, 'dragging pans');
  await b.key('Enter');
  ok(/^Rank /.test(await b.eval(
    `document.querySelector('.timeline .told').textContent`)),
  'Enter tells what is in the middle');
  const pinch = at => [{x: box.x + 500 - at, y: box.y + 90, id: 1},
    {x: box.x + 500 + at, y: box.y + 90, id: 2}];
  await b.key('0');
  for (const [type, touchPoints] of [['touchStart', pinch(40)],
    ['touchMove', pinch(80)], ['touchMove', pinch(160)], ['touchEnd', []]])
    await b.send('Input.dispatchTouchEvent', {type, touchPoints});
  await settled();
  ok(await label() !== whole, 'two fingers zoom');

  // --- a place stays: in the narrowest window, and where a filter comes
  const kept = await b.eval(`(async () => {
    const t = jobprof.timeline, frames = () => new Promise(done =>
      requestAnimationFrame(() => requestAnimationFrame(done)));
    t.fit();
    for (let i = 0; i < 20; i++) t.zoom(0.5, 0.9);
    const narrow = String(t.x);
    t.zoom(0.5, 0.9);
    const still = narrow === String(t.x);
    jobprof.setFilter({func: 'AllReduce'});
    await frames();
    const filtered = narrow === String(t.x);
    jobprof.setFilter({func: null, time: '0.2-0.3'});
    await frames();
    const timed = String(t.x);
    jobprof.setFilter({time: null});
    await frames();
    return {still, filtered, timed: timed !== narrow, all: t.x[0] === 0};
  })()`);
  ok(Object.values(kept).every(Boolean), 'a zoom keeps its place, also with ' +
    'a filter; only another time moves it', JSON.stringify(kept));
  const axis = await b.eval(`(async () => {
    const plot = document.querySelector('[data-chart=busbw-time] .plot');
    const press = key => plot.dispatchEvent(new KeyboardEvent('keydown', {key}));
    plot.closest('details').open = true;
    await new Promise(done => setTimeout(done, 300));
    for (let i = 0; i < 12; i++) press('+');
    const seen = () => [...plot.querySelectorAll('text')].map(e => e.textContent)
      .filter(t => /^[0-9.]+ (\u00b5s|ms|s)$/.test(t));
    const labels = seen();
    press('+');
    const still = seen();
    press('0');
    return {labels, still};
  })()`);
  ok(axis.labels.length > 2 &&
    new Set(axis.labels).size === axis.labels.length &&
    String(axis.labels) === String(axis.still),
  'a zoomed axis has the digits that tell its labels apart',
  JSON.stringify(axis));

  // --- a click on a name sets the filter; the address keeps it
  await b.key('0');
  await settled();
  await b.click(box.x + 60, box.y + 30);
  await b.eval(`document.querySelector('.timeline .told button').click()`);
  await settled();
  const hash = await b.eval('location.hash');
  ok(/rank=0/.test(hash), 'a click on a rank filters by it', hash);
  ok(/of 1 ranks/.test(await label()), 'the timeline obeys', await label());
  const busy = await rows('busy');
  ok(busy.length === 1 && busy[0].startsWith('0'), 'a table obeys',
    JSON.stringify(busy));
  ok(await b.eval(`[...document.querySelectorAll('#ranks .note')].some(e =>
    /do not match the filter/.test(e.textContent))`), 'and says so');
  ok(await b.eval(`document.querySelector('figure[data-chart=busy] svg')
    .textContent.match(/node\\d+/g).length === 1`), 'a chart obeys');
  await b.eval(`jobprof.setFilter({rank: null, func: 'AllReduce',
    time: '0.2-0.3'})`);
  await settled();
  const ops = await rows('operations');
  ok(ops.length > 0 && ops.every(r => r.includes('AllReduce')),
    'by function', JSON.stringify(ops));
  ok(/from 200 ms to 300 ms/.test(await label()), 'by time', await label());
  const view = await b.eval('location.hash');
  await b.goto(small, view);
  await ready();
  await settled();
  ok((await rows('operations')).length === ops.length &&
    /from 200 ms to 300 ms/.test(await label()),
  'the address brings the view back', view);
  await b.eval(`document.querySelector('#operations tr:not([hidden]) td[data-key=func]').click()`);
  await settled();
  ok(!/func/.test(await b.eval('location.hash')) &&
    (await rows('operations')).length > ops.length, 'a click takes it away');
  await b.goto(small, '#rank=%3Cb%3E&time=9-1&size=x&nonsense=1');
  await ready();
  await settled();
  ok(/No rank|of 0 ranks/.test(await label()) &&
    !await b.eval(`document.querySelector('.filter b')`),
  'an address that makes no sense does no harm', await label());
  await b.eval(`jobprof.setFilter({rank: null, size: null, time: null})`);

  // --- single operations, from a file beside the page
  await b.eval(`[...document.querySelectorAll('.timeline .controls button')]
    .find(e => e.textContent === 'Single operations').click()`);
  ok(await b.until('!!jobprof.timeline.single'),
    'single operations are loaded and drawn', await b.eval(
      `document.querySelector('.timeline .told').textContent`));
  const single = await b.eval(`(() => {
    const t = jobprof.timeline;
    const ops = t.detail.rows.flat();
    return [ops.length, ops.every(o => o.kind && o.time >= o.waits &&
      o.bytes > 0), ops.some(o => o.waits > 100),
      t.words(t.at(t.canvas.clientWidth / 2, 60))];
  })()`);
  ok(single[0] > 500 && single[1] && single[2], 'with their waits',
    JSON.stringify(single));

  // --- copies and sorting
  await b.send('Browser.grantPermissions', {permissions: ['clipboardReadWrite',
    'clipboardSanitizedWrite']}).catch(() => {});
  await b.eval(`window.copied = []; document.addEventListener('copy', () =>
    copied.push(document.activeElement.value));
    Object.defineProperty(navigator, 'clipboard', {value: {writeText: async t =>
      { copied.push(t); }}}); 1`);
  await b.eval(`document.querySelector('#busy .copy').click()`);
  const table = await b.until('window.copied[0]');
  const copied = table.trim().split('\n');
  ok(copied[0].split('\t').slice(0, 3).join() === 'Rank,Host,Process' &&
    copied.length === 17 && copied[1].split('\t').every(c => c !== ''),
  'a table is copied, tab-separated', table.slice(0, 200));
  await b.eval(`document.querySelector('.filter .copy').click()`);
  ok(/^file:.*report\.html/.test(await b.until('window.copied[1]')),
    'a link is copied');
  const sorted = await b.eval(`(() => {
    const head = document.querySelector('#busy th:nth-child(5) button');
    head.focus();
    head.click();
    return [...document.querySelectorAll('#busy tbody td:nth-child(5)')]
      .map(c => Number(c.dataset.v));
  })()`);
  ok(sorted.length === 16 && sorted.every((v, i) => !i || v <= sorted[i - 1]),
    'the first click on a heading puts the largest first', sorted.join());

  // --- folded where no finding is of time; what names it opens it
  await b.goto(good);
  await settled();
  ok(await b.eval(`document.querySelector('.filter').getBoundingClientRect().top
    > innerHeight`), 'the filter lies on nothing of the first screen');
  await b.eval(`document.getElementById('operations').scrollIntoView()`);
  await b.until(`!document.body.classList.contains('at-answer')`);
  ok(await b.eval(`(() => {
    const {top, bottom, width} =
      document.querySelector('.filter').getBoundingClientRect();
    return bottom <= innerHeight && top > innerHeight - 60 && width < 140;
  })()`), 'the filter that is not used is small');
  ok(!await open() && !await b.eval(`document.querySelector('#answer ' +
    'a[href="#timeline"]')`), 'folded where nothing is to be seen in it');
  await b.eval(`location.hash = 'timeline&rank=3'`);
  // the filter is drawn some frames after the section has opened
  ok(await shows() && await open() && await b.until(`/of 1 ranks/.test(
    document.querySelector('figure.timeline canvas').ariaLabel)`),
    'the address opens it, whatever filter it has', await label());
  await b.goto(good, '#timeline');
  ok(await shows() && await open(), 'so does a page that begins there');
  await b.goto(good, '#time=0.2-0.3');
  await settled();
  ok(await open(), 'and a time, as it was copied from the timeline');
  await b.goto(small);
  // The value of a heat map's cell is its colour, also under the pointer.
  const heat = `document.querySelector('figure[data-chart="waits-time"]')`;
  await b.eval(`document.getElementById('folds').click()`);
  await b.until(`!!${heat}.querySelector('svg')`);
  const cell = await b.eval(`(() => {
    ${heat}.scrollIntoView({block: 'center', behavior: 'instant'});
    const cells = [...${heat}.querySelectorAll('svg path')].filter(p => {
      const r = p.getBoundingClientRect();
      return r.width > 2 && r.width < 60 && r.height > 8 && r.height < 24 &&
        /^rgb/.test(p.getAttribute('fill'));
    });
    const r = cells[cells.length >> 1].getBoundingClientRect();
    window.cell = {x: r.x + r.width / 2, y: r.y + r.height / 2};
    return window.cell;
  })()`);
  const painted = `(([p]) => p && [p.getAttribute('fill'),
    p.getAttribute('stroke')])(document.elementsFromPoint(cell.x, cell.y)
    .filter(e => e.tagName === 'path'))`;
  const [colour] = await b.eval(painted);
  await b.mouse('mouseMoved', cell.x, cell.y);
  await b.until(`(${painted})[1]`);
  const [under, frame] = await b.eval(painted);
  ok(under === colour && frame, 'a cell under the pointer keeps its colour',
    colour, under, frame);
  await b.mouse('mouseMoved', 1, 1);
  await b.goto(small);
  await ready();
  ok(await open(), 'open where a rank is late');
  // a single finding is folded, as the first screen has it
  await b.eval(`document.querySelectorAll('#findings details').forEach(
    fold => { fold.open = true; })`);
  const lines = await b.eval(`[...document.querySelectorAll('#findings td')]
    .map(c => [c.checkVisibility(), c.textContent.trim()])`);
  ok(lines.some(([seen]) => !seen) && lines.every(([seen, text]) =>
    seen === !['', '-'].includes(text)),
  'a finding has lines for what is known', JSON.stringify(lines));
  await b.eval(`document.querySelector('#timeline > details').open = false`);
  await b.eval(`document.querySelector('#answer a[href="#timeline"]').click()`);
  ok(await shows() && await open(), 'the first screen leads to it');

  // --- 1,024 ranks: frames a second of panning, first paint
  await b.goto(large);
  const paged = await b.eval(`(() => {
    const box = document.querySelector('.pages');
    box.closest('details').open = true;
    const scroll = box.parentElement.nextElementSibling;
    const [back, next, all] = box.querySelectorAll('button');
    const rows = [...scroll.querySelector('tbody').rows];
    const shown = () => rows.filter(row => row.checkVisibility()).length;
    const word = () => box.querySelector('.note').textContent;
    const seen = [shown(), word(), back.disabled];
    next.click();
    seen.push(shown(), word());
    all.click();
    return {seen, all: shown(), n: rows.length};
  })()`);
  ok(paged.n > 30 && paged.all === paged.n && String(paged.seen) ===
    String([20, `Rows 1 to 20 of ${paged.n}`, true,
      Math.min(20, paged.n - 20),
      `Rows 21 to ${Math.min(40, paged.n)} of ${paged.n}`]),
  'a long table has pages', JSON.stringify(paged));
  ok(await ready(), '1,024 ranks are drawn');
  await toTimeline();
  await settled();
  await b.key('+');
  await b.key('+');
  const fps = await b.eval(`new Promise(done => {
    const c = document.querySelector('figure.timeline canvas');
    const times = [];
    let n = 0;
    function step(now) {
      times.push(now);
      const key = n++ % 60 < 30 ? 'ArrowRight' : 'ArrowLeft';
      c.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
      if (n < 180) requestAnimationFrame(step);
      else done((times.length - 1) * 1000 / (times[times.length - 1] - times[0]));
    }
    requestAnimationFrame(step);
  })`);
  // the least of several batches: other programs run, too
  const cost = await b.eval(`(() => {
    const t = jobprof.timeline;
    let least = Infinity;
    for (let batch = 0; batch < 12; batch++) {
      const from = performance.now();
      for (let i = 0; i < 10; i++) {
        t.move(batch % 2 ? 0.05 : -0.05);
        t.draw();
      }
      t.canvas.toDataURL('image/jpeg', 0.1);
      least = Math.min(least, (performance.now() - from) / 10);
    }
    return least;
  })()`);
  // what a movement does: cells, names and sentences stay as they are
  const work = await b.eval(`new Promise(done => {
    const t = jobprof.timeline;
    t.fit();
    t.zoom(0.2, 0.1);
    let n = 0, first, before;
    const names = t.drawNames, told = t.tellRange, did = {names: 0, told: 0};
    t.drawNames = (...a) => { did.names++; return names.apply(t, a); };
    t.tellRange = (...a) => { did.told++; return told.apply(t, a); };
    function step() {
      if (n === 1) {
        first = t.renders;
        did.names = 0;
        before = t.canvas.toDataURL();
      }
      if (n === 2) did.moved = before !== t.canvas.toDataURL();
      t.move(0.01);
      t.draw();
      if (n++ < 81) return step();
      delete t.drawNames;
      delete t.tellRange;
      done({...did, renders: t.renders - first});
    }
    step();
  })`);
  ok(work.moved && work.renders <= 2 && work.names === 0 && work.told === 0,
    '80 steps of a movement draw the cells at most twice, and no name',
    JSON.stringify(work));
  const paint = await b.eval(`performance.getEntriesByName(
    'first-contentful-paint')[0]?.startTime ?? 0`);
  console.log(`# panning 1,024 ranks: ${fps.toFixed(1)} frames a second, ` +
    `${cost.toFixed(2)} ms a frame; first paint after ${paint.toFixed(0)} ms`);
  ok(cost < 200, 'a frame takes less than 200 ms on any machine', cost);
  for (const [width, dark] of [[1280, true], [390, false], [390, true]]) {
    await b.look(width, 900, dark);
    await b.goto(large);
    ok(await ready() && await b.eval(
      'document.documentElement.scrollWidth <= innerWidth'),
    `${width} wide${dark ? ', dark' : ''}: drawn, nothing sticks out`);
  }
  ok(!b.messages.length, 'no message on the console', b.messages.join(' | '));
} catch (error) {
  ok(false, 'the browser answers', error.stack.replace(/\n/g, '\n# '));
} finally {
  await b.close();
  await sleep(0);
}
