// five.mjs PAGE...: the text that a reader sees before scrolling, a page after
// the other, each behind a line "== WIDTH PAGE"; then lines on its tables, its tiles,
// and words and numbers that are a program's.
import {resolve} from 'node:path';
import {Browser} from './browser.mjs';

const SIZES = [[1280, 900], [390, 844]];

// Pieces of text whose lines are inside the window, in the order of the page.
const visible = `(() => {
  const seen = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (node.data.trim() && box.width && box.height && box.bottom <= innerHeight &&
        node.parentElement.checkVisibility())
      seen.push(node.data.trim());
  }
  // a figure of a closed section that leaves its box
  const cut = [...document.querySelectorAll('details>summary .figure')].filter(f => {
    const figure = f.getBoundingClientRect();
    const box = f.closest('section').getBoundingClientRect();
    return figure.height && (figure.bottom > box.bottom || figure.right > box.right);
  }).map(f => f.textContent);
  return seen.join(' ').replace(/\\s+/g, ' ') + ' figures cut: ' + (cut.join(', ') || 'none');
})()`;

const browser = await Browser.open();
try {
  for (const page of process.argv.slice(2))
    for (const [width, height] of SIZES) {
      await browser.look(width, height);
      await browser.goto(resolve(page));
      console.log(`== ${width} ${page}`);
      console.log(await browser.eval(visible));
      // with all sections open, which tables are cut on the right?
      console.log('tables cut: ' + await browser.eval(`(() => {
        const closed = [...document.querySelectorAll('details:not([open])')];
        for (const d of closed) d.open = true;
        const cut = [...document.querySelectorAll('.scroll')].filter(t => t.scrollWidth > t.clientWidth + 1)
          .map(t => t.closest('section').id);
        for (const d of closed) d.open = false;
        return cut.join(', ') || 'none';
      })()`));
      console.log('tiles: ' + await browser.eval(`[...document.querySelectorAll(
        '.tiles div')].map(t => t.querySelector('dt').textContent + '=' +
        t.querySelector('strong').textContent).join('; ')`));
      console.log('order: ' + await browser.eval(`[...document.querySelectorAll(
        '.heading, .verdict, .tiles, .command, section')].map(e => e.className ||
        'section').slice(0, 5).join(' ')`));
      console.log('heading: ' + await browser.eval(`document.querySelector(
        '.heading').textContent.replace(/\\s+/g, ' ').trim()`));
      // with all open: words such as gpu_bound, numbers such as 6895903. Names of
      // files and settings are code; what the program or a user named stays.
      console.log('raw: ' + await browser.eval(`(() => {
        const closed = [...document.querySelectorAll('details:not([open])')];
        for (const d of closed) d.open = true;
        const found = new Set(), walk = document.createTreeWalker(document.body,
          NodeFilter.SHOW_TEXT);
        for (let node; (node = walk.nextNode());) {
          const e = node.parentElement;
          if (!e.checkVisibility() || !e.closest('table') || e.closest('code, pre, ' +
            'script, #files, #settings, #environment, #command, .wrap, .more'))
            continue;
          for (const [word] of node.data.trim().matchAll(
            /^[a-z]+(_[a-z]+)+$|(?<![-\\d.:x,])\\b\\d{6,}\\b/g))
            // PyTorch's names of a function and of a group
            if (!['all_reduce', 'default_pg'].includes(word)) found.add(word);
        }
        for (const d of closed) d.open = false;
        return [...found].join(' ') || 'none';
      })()`));
      // PICTURES=FOLDER keeps them, to be looked at
      for (const dark of process.env.PICTURES ? [false, true] : []) {
        const name = resolve(page).split('/').at(-2);
        await browser.look(width, height, dark);
        await browser.picture(`${process.env.PICTURES}/${name}-${width}${dark ? '-dark' : ''}.png`);
      }
    }
} finally {
  await browser.close();
}
