// pictures.js - the small pictures of a page. Each place has its kind in
// data-picture and its figures in data-figures (orchestrator/report/picture.h).
// Colours are classes of page.css, so they follow its light and dark.
(() => {
  // The name of SVG's namespace, which is an address: our pages name none.
  const template = document.createElement('template');
  template.innerHTML = '<svg></svg>';
  const SVG = template.content.firstChild.namespaceURI;

  function shape(parent, name, attributes, title) {
    const e = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes))
      e.setAttribute(key, value);
    if (title) shape(e, 'title', {}).textContent = title;
    parent.append(e);
    return e;
  }

  // A picture that fills its place; the text beside it tells the same.
  const stretched = (place, width, height, look = '') => shape(place, 'svg', {
    class: look, viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: 'none', 'aria-hidden': 'true'});

  // A row of a table of pictures.
  const row = (place, width = 100, height = 1) =>
    stretched(place, width, height, 'cells');

  const box = (parent, look, x, y, width, height) =>
    shape(parent, 'rect', {class: look, x, y, width, height});

  // The height of values in a picture of 100, with a margin on top.
  const heightOf = (value, from, full) => 95 * (value - from) / (full - from);

  function bar(place, {parts}) {
    const svg = row(place);
    let at = 0;
    for (const [share, look] of parts) {
      box(svg, `col ${look}`, 100 * at, 0, 100 * share, 1);
      at += share;
    }
  }

  function ticks(place, {most, look, at}) {
    const svg = row(place);
    for (const value of at)
      box(svg, `col ${look}`, 1 + 98 * (most ? value / most : 0), 0,
        look ? 1 : 0.6, 1);
  }

  function interval(place, {from, to, low, high, at}) {
    const svg = row(place, 100, 10);
    const x = value => (to > from ? 100 * (value - from) / (to - from) : 50);
    // a narrow interval stays visible, and so does the longest run
    if (low !== null)
      box(svg, 'h2', x(low), 2, Math.max(0.3, x(high) - x(low)), 6);
    for (const value of at) box(svg, 'h4', Math.min(99.6, x(value)), 0, 0.4, 10);
  }

  // 0 is the background; 1 to 4 are quarters of the most.
  const levelOf = (value, most) => (value > 0.12 * most
    ? 1 + Math.min(3, Math.floor(4 * value / most)) : 0);

  // Neighbours of one colour are one shape: many would show their seams.
  function strip(place, {most, rows}) {
    const svg = row(place, rows[0].length, rows.length);
    rows.forEach((values, y) => {
      const levels = values.map(value => levelOf(value, most));
      for (let from = 0, to; from < levels.length; from = to) {
        for (to = from + 1; levels[to] === levels[from];) to++;
        if (levels[from]) box(svg, `h${levels[from]}`, from, y, to - from, 1);
      }
    });
  }

  function columns(place, {from, full, values, marked = [], limit, base}) {
    const svg = stretched(place, values.length, 100);
    values.forEach((value, i) => {
      const height = heightOf(value, from, full);
      if (height > 0)
        box(svg, marked.includes(i) ? 'col hit' : 'col', i + 0.1, 100 - height,
          0.8, height);
    });
    if (limit !== undefined)
      shape(svg, 'line', {class: 'limit', x1: limit, x2: limit, y1: 0, y2: 100});
    if (typeof base === 'number') {
      const y = 100 - heightOf(base, from, full);
      shape(svg, 'line', {class: 'base', x1: 0, x2: values.length, y1: y, y2: y});
    }
  }

  // Slices without a value are bridged up to a tenth of the run: a short run has
  // fewer operations than slices, and a broken line would look like a dashed one.
  function curve(svg, look, values, y) {
    const bridge = Math.floor(values.length / 10) + 1;
    let path = '', last = -Infinity;
    values.forEach((value, i) => {
      if (value === null) return;
      path += `${i - last <= bridge ? 'L' : 'M'}${i + 0.5} ${y(value)}`;
      last = i;
    });
    if (path) shape(svg, 'path', {class: look, d: path});
  }

  function course(place, {most, band: [low, middle, high], change, series, others}) {
    const n = series.length;
    const svg = stretched(place, n, 100);
    const y = value => 100 - 100 * value / most;
    if (middle !== null) {
      if (low !== null && high !== null)
        box(svg, 'band', 0, y(high), n, y(low) - y(high));
      shape(svg, 'line',
        {class: 'base', x1: 0, x2: n, y1: y(middle), y2: y(middle)});
    }
    if (change !== null)
      shape(svg, 'line', {class: 'limit', x1: change, x2: change, y1: 0, y2: 100});
    curve(svg, 'others', others, y);
    curve(svg, 'series', series, y);
  }

  // A picture of its own size, which has words of its own.
  const whole = (place, label, width, height) => shape(place, 'svg',
    {class: 'trend', role: 'img', 'aria-label': label, width, height,
      viewBox: `0 0 ${width} ${height}`});

  // A step without a readable report looks like one without data.
  const lookOf = word => word || 'NODATA';

  // A square per step, with its verdict's first letter.
  function verdicts(place, {label, steps}) {
    const pitch = 22, size = 19;
    const svg = whole(place, label, steps.length * pitch, pitch + 6);
    svg.removeAttribute('viewBox'); // it scrolls
    steps.forEach(([words, word], i) => {
      const g = shape(svg, 'g', {class: lookOf(word)}, words);
      shape(g, 'rect', {x: i * pitch, y: 1, width: size, height: size, rx: 3});
      shape(g, 'text', {x: i * pitch + Math.floor(size / 2), y: 16})
        .textContent = word[0] ?? '?';
    });
  }

  // A value's course over steps. It starts at 0, so a small change looks small.
  function trend(place, {label, steps}) {
    const width = 360, height = 44, edge = 6;
    const svg = whole(place, label, width, height);
    const most = Math.max(...steps.map(step => step[2] ?? 0));
    const points = steps.map(([words, word, value], i) => ({words, word, value,
      cx: edge + i * (width - 2 * edge) / Math.max(steps.length - 1, 1),
      cy: height - edge - value / most * (height - 2 * edge)}))
      .filter(({value}) => value !== null);
    shape(svg, 'path', {d: `M0 ${height - edge} H${width}`});
    shape(svg, 'polyline',
      {points: points.map(({cx, cy}) => `${cx},${cy}`).join(' ')});
    for (const {words, word, cx, cy} of points)
      shape(svg, 'circle', {class: lookOf(word), cx, cy, r: 3.5}, words);
  }

  const kinds = {bar, ticks, interval, strip, columns, course, verdicts, trend};

  document.addEventListener('DOMContentLoaded', () => {
    for (const place of document.querySelectorAll('[data-picture]'))
      kinds[place.dataset.picture](place, JSON.parse(place.dataset.figures));
  });
})();
