// frames.mjs - how fast a page is: its first paint, the frames a second of
// panning its timeline by keys and by mouse, processor time of a frame. By hand:
//
// CHROMIUM=PROGRAM frames.mjs REPORT.html [TIMES]: a line a time it is opened
import {statSync} from 'node:fs';
import {resolve} from 'node:path';
import {Browser, sleep} from './browser.mjs';

const FRAMES = 300;
const page = resolve(process.argv[2]);
const canvas = `document.querySelector('figure.timeline canvas')`;

// Frames a second, and the frames that missed one of the screen's 60.
const rate = times => {
  const each = times.slice(1).map((t, i) => t - times[i]);
  const sum = each.reduce((a, b) => a + b, 0);
  return {fps: (1000 * each.length / sum).toFixed(1),
    missed: each.filter(ms => ms > 17.5).length};
};

async function cpu(b) {
  const {metrics} = await b.send('Performance.getMetrics');
  return 1000 * metrics.find(m => m.name === 'TaskDuration').value;
}

const byKeys = b => b.eval(`new Promise(done => {
  const times = [];
  function step(now) {
    times.push(now);
    const key = times.length % 60 < 30 ? 'ArrowRight' : 'ArrowLeft';
    ${canvas}.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
    if (times.length <= ${FRAMES}) requestAnimationFrame(step);
    else done(times);
  }
  requestAnimationFrame(step);
})`);

async function byMouse(b, {x, y}) {
  const button = {button: 'left', buttons: 1, clickCount: 1};
  await b.eval(`(() => {
    window.frames = [];
    const step = now => {
      window.frames.push(now);
      window.asked = requestAnimationFrame(step);
    };
    window.asked = requestAnimationFrame(step);
  })()`);
  await b.mouse('mousePressed', x, y, button);
  for (let i = 0; i < FRAMES / 2; i++)
    await b.mouse('mouseMoved', x - i % 100 * 4, y, button);
  await b.mouse('mouseReleased', x, y, button);
  return b.eval('(cancelAnimationFrame(window.asked), window.frames)');
}

async function measure() {
  const b = await Browser.open();
  try {
    await b.look(1280, 900);
    await b.send('Performance.enable', {timeDomain: 'threadTicks'});
    await b.goto(page);
    if (!await b.until(`${canvas}?.ariaLabel`)) throw new Error('no timeline');
    const paint = await b.eval(`performance.getEntriesByName(
      'first-contentful-paint')[0].startTime`);
    const middle = await b.eval(`(() => {
      const c = ${canvas};
      c.closest('details').open = true;
      c.scrollIntoView({block: 'center', behavior: 'instant'});
      c.focus();
      const box = c.getBoundingClientRect();
      return {x: box.x + 0.7 * box.width, y: box.y + box.height / 2};
    })()`);
    await sleep(500); // what opening it has still to draw
    await b.key('+');
    await b.key('+');
    await sleep(500);
    const before = await cpu(b);
    const keys = rate(await byKeys(b));
    const each = (await cpu(b) - before) / FRAMES;
    const mouse = rate(await byMouse(b, middle));
    console.log(`first paint ${paint.toFixed(0)} ms; panning by keys ` +
      `${keys.fps} frames a second, ${keys.missed} of ${FRAMES} late, ` +
      `${each.toFixed(1)} ms of a processor each; by mouse ${mouse.fps}, ` +
      `${mouse.missed} late`);
  } finally {
    await b.close();
  }
}

console.log(`${statSync(page).size} bytes`);
for (let i = 0; i < (process.argv[3] ?? 3); i++) await measure();
