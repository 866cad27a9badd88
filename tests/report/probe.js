// probe.js - what charts.test asks of an open report: is each chart drawn, do
// zoom keys, choices and the switch of colours change it? Answers in <pre id=probe>.
'use strict';
addEventListener('load', async () => {
  const lines = [];
  const say = (...words) => lines.push(words.join(' '));

  const drawn = figure =>
    figure.querySelectorAll('svg path, svg rect, svg polygon').length;
  const picture = figure => figure.querySelector('svg').outerHTML;

  // Charts are painted with one of the next frames.
  const frame = () => new Promise(done => setTimeout(done, 100));

  async function changes(figure, act) {
    const before = picture(figure);
    act();
    for (let i = 0; i < 30; i++) {
      await frame();
      if (picture(figure) !== before) return 'changed';
    }
    return 'same';
  }

  await frame();
  document.getElementById('folds')?.click(); // what is folded is not drawn
  for (let i = 0; i < 5; i++) await frame();

  for (const figure of document.querySelectorAll('figure.chart')) {
    const name = figure.dataset.chart;
    const plot = figure.querySelector('.plot');
    if (!plot) continue; // no script has drawn it
    say('chart', name, drawn(figure), plot.clientWidth, plot.clientHeight,
      plot.getAttribute('aria-label') ? 'labelled' : 'unlabelled');
    for (const select of figure.querySelectorAll('select')) {
      for (const option of [...select.options].slice(1, 3)) {
        say('choice', name, option.text.replace(/ /g, '_'),
          await changes(figure, () => {
            select.value = option.value;
            select.dispatchEvent(new Event('change'));
          }), drawn(figure));
      }
      select.value = select.options[0].value;
      select.dispatchEvent(new Event('change'));
      await frame();
    }
    if (plot.tabIndex === 0)
      say('key', name, await changes(figure, () => plot.dispatchEvent(
        new KeyboardEvent('keydown', {key: '+', bubbles: true}))));
  }
  const shown = selector => [...document.querySelectorAll(selector)]
    .filter(e => e.offsetHeight > 0).length;
  say('shown', shown('table'), 'tables,', shown('figure.chart'), 'charts,',
    shown('section.charts, li.charts'), 'for charts only');
  const colours = document.querySelector('header.top select');
  if (colours) {
    colours.value = 'light';
    colours.dispatchEvent(new Event('change'));
    await frame();
  }
  for (const figure of colours ? document.querySelectorAll('.drawn figure.chart') : [])
    say('colours', figure.dataset.chart, await changes(figure, () => {
      colours.value = colours.value === 'dark' ? 'light' : 'dark';
      colours.dispatchEvent(new Event('change'));
    }));
  dispatchEvent(new Event('beforeprint'));
  const tall = [...document.querySelectorAll('.drawn figure.chart .plot')]
    .filter(plot => plot.clientHeight > 330);
  say('paper', tall.length ? 'overflows' : 'fits');
  dispatchEvent(new Event('afterprint'));
  say('wide', document.documentElement.scrollWidth > innerWidth ? 'overflows'
    : 'fits');
  const pre = document.createElement('pre');
  pre.id = 'probe';
  pre.textContent = `\n${lines.join('\n')}\n`;
  document.body.append(pre);
});
