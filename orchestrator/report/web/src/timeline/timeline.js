// timeline.js - what each rank did over the run: a canvas to zoom and pan by
// mouse, touch and keys.
import {shorten, tick, us} from '../format.js';
import {readTheme} from '../theme.js';
import {narrowCells, readCells, SIZES} from './cells.js';
import {drawDetail, loadDetail, singleAt, singleWords} from './detail.js';
import {colourOf, hatch, Picture} from './picture.js';

const AXIS = 24;
const HINT = 'Zoom: Ctrl and wheel, pinch, or + and \u2212; ranks: Shift with ' +
  'these. Move: drag, or the arrow keys. All: 0. Enter tells what is in the ' +
  'middle, a click what is there.';

function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key === 'click') e.addEventListener('click', value);
    else e.setAttribute(key, value);
  e.append(...children);
  return e;
}

const power = n => 2 ** Math.max(0, Math.floor(Math.log2(n)));

export class Timeline {
  constructor(figure, cells) {
    this.figure = figure;
    this.cells = cells;
    this.frames = 0;
    this.renders = 0; // frames for which the cells were drawn anew
    for (const row of cells.rows) {
      window.jobprof.offer('rank', row.rank);
      window.jobprof.offer('node', row.host);
      window.jobprof.process(row.host, row.pid, row.rank);
    }
    for (const k of cells.kinds) {
      window.jobprof.offer('comm', k.id, `${k.name} ${k.id}`.trim());
      window.jobprof.offer('func', k.func);
    }
    this.build();
    this.listen();
    window.jobprof.onFilter(filter => this.narrow(filter));
    // an address with a time was copied while this was open
    if (window.jobprof.time()) figure.closest('details').open = true;
    new ResizeObserver(() => this.later()).observe(this.canvas);
  }

  build() {
    const button = (text, label, click) =>
      element('button', {type: 'button', 'aria-label': label, click}, text);
    this.canvas = element('canvas', {tabindex: 0, role: 'img',
      'aria-describedby': 'timeline-hint'});
    this.tip = element('div', {class: 'tip', hidden: ''});
    this.told = element('p', {class: 'told', role: 'status'});
    this.note = element('p', {class: 'note', id: 'timeline-hint'});
    this.legend = element('ul', {class: 'legend'});
    this.figure.append(
      element('figcaption', {}, 'What each rank did',
        element('span', {class: 'controls'},
          button('\u2212', 'Zoom out', () => this.zoom(2)),
          button('+', 'Zoom in', () => this.zoom(0.5)),
          button('All', 'Show all of the run', () => this.fit()),
          button('Only this time', 'Filter the page by the time that shows',
            () => this.useTime()),
          button('Single operations',
            'Show the operations of the part in which ranks wait most',
            () => this.useDetail()))),
      this.legend, element('div', {class: 'canvas'}, this.canvas, this.tip),
      this.told, this.note);
    this.context = this.canvas.getContext('2d');
    this.layer = document.createElement('canvas');
    this.scene = document.createElement('canvas');
    this.over = document.createElement('canvas');
  }

  // --- what shows

  narrow(filter) {
    const {rows, kinds} = narrowCells(this.cells, filter);
    this.rows = rows;
    this.kinds = kinds;
    this.picture = new Picture(this.cells, {rows, kinds});
    const time = window.jobprof.time();
    const seconds = this.cells.width / 1e6;
    const askedTime = filter.time ?? '';
    // only another time moves the window, only another number of rows the ranks
    if (!this.x || askedTime !== this.askedTime)
      this.x = time && time[0] < this.cells.bins * seconds
        ? [time[0] / seconds, Math.min(time[1] / seconds, this.cells.bins)]
        : [0, this.cells.bins];
    this.askedTime = askedTime;
    if (this.lines !== rows.length) this.y = [0, Math.max(rows.length, 1)];
    this.lines = rows.length;
    this.tellLegend();
    this.later();
  }

  fit() {
    this.x = [0, this.cells.bins];
    this.y = [0, Math.max(this.rows.length, 1)];
    this.later();
  }

  useTime() {
    const s = bin => (bin * this.cells.width / 1e6).toPrecision(5);
    window.jobprof.setFilter({time: this.x[0] <= 0 &&
      this.x[1] >= this.cells.bins ? null : `${Number(s(this.x[0]))}-${
      Number(s(this.x[1]))}`});
  }

  async useDetail() {
    if (!this.detail && !await loadDetail(this)) {
      this.told.textContent = 'There is no timeline.js of this report beside ' +
        'the page. Copy it here with the page, or see all operations by ' +
        '"jobprof export chrome".';
      return;
    }
    const {from, to} = this.detail;
    const middle = (from + to) / 2, half = Math.min((to - from) / 2, 40);
    this.leastBins = 0.02;
    this.show('x', [middle - half, middle + half]);
  }

  static within([from, to], least, most) {
    const span = Math.min(Math.max(to - from, least), most);
    const start = Math.min(Math.max((from + to - span) / 2, 0), most - span);
    return [start, start + span];
  }

  // by: of the span; at: what stays where it is, 0 to 1.
  zoom(by, at = 0.5, axis = 'x') {
    const [from, to] = this[axis];
    const [least, most] = this.limits(axis);
    const middle = from + (to - from) * at;
    const span = Math.min(Math.max((to - from) * by, least), most);
    this.show(axis, [middle - span * at, middle + span * (1 - at)]);
  }

  move(by, axis = 'x') {
    const span = this[axis][1] - this[axis][0];
    this.show(axis, this[axis].map(v => v + span * by));
  }

  // The least and the most that shows, in bins or rows: a few thousandths of a
  // bin show single operations, where they are known.
  limits(axis) {
    const rows = Math.max(this.rows.length, 1);
    return axis === 'x' ? [Math.min(this.leastBins ?? 4, this.cells.bins),
      this.cells.bins] : [Math.min(4, rows), rows];
  }

  show(axis, range) {
    this[axis] = Timeline.within(range, ...this.limits(axis));
    this.later();
  }

  later() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = undefined;
      this.draw();
    });
  }

  // --- drawing

  gutter() {
    return this.canvas.clientWidth < 560 ? 62 : 128;
  }

  resize() {
    const width = this.canvas.clientWidth;
    const lines = Math.max(1, this.rows.length);
    const height = AXIS + Math.min(Math.max(lines * 18, 120),
      width < 560 ? 380 : 520);
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    if (this.width === width && this.height === height && this.scale === scale)
      return;
    this.canvas.style.height = `${height}px`;
    Object.assign(this, {width, height, scale});
    for (const [c, by] of [[this.canvas, 1], [this.layer, 2], [this.scene, 2],
      [this.over, 1]]) {
      c.width = by * Math.max(1, Math.round(width * scale));
      c.height = Math.round(height * scale);
    }
    this.pattern = undefined;
  }

  draw() {
    this.resize();
    if (!this.width) return; // folded
    const {context: c, scale} = this;
    const theme = this.theme ??= readTheme();
    const left = this.gutter();
    const plot = {left, top: AXIS, width: this.width - left,
      height: this.height - AXIS};
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.fillStyle = theme.card;
    c.fillRect(0, 0, this.width, this.height);
    c.fillStyle = theme.heat[0];
    c.fillRect(plot.left, plot.top, plot.width, plot.height);
    if (this.rows.length) {
      this.drawCells(plot, theme);
      drawDetail(this, plot, theme);
    }
    this.drawTime(plot, theme);
    this.drawOver(plot, theme);
    this.frames++;
    if (this.spoken === this.picture)
      this.speak ??= setTimeout(() => this.tellRange(), 30);
    else this.tellRange(); // another filter, which is no movement
  }

  // Text costs the browser a layout: not in every frame of a movement.
  tellRange() {
    this.speak = undefined;
    this.spoken = this.picture;
    this.canvas.setAttribute('aria-label', this.describe());
    const text = [this.notes(), HINT].filter(Boolean).join(' ');
    if (this.note.textContent !== text) this.note.textContent = text;
  }

  // Cells of what shows, and half as much to each side: a movement within only
  // copies a part of it.
  drawCells(plot, theme) {
    const {context: c, scale, x, y} = this;
    const span = x[1] - x[0], wide = Math.round(plot.width * scale);
    const high = Math.round(plot.height * scale);
    const key = [span.toPrecision(9), ...y, wide, high].join(' ');
    const made = this.made;
    if (!made || made.key !== key || made.picture !== this.picture ||
      !this.pattern || x[0] < made.from - 1e-6 ||
      x[1] > made.from + 2 * span + 1e-6)
      this.render(key, wide, high, theme);
    const at = Math.round((x[0] - this.made.from) / span * wide);
    c.imageSmoothingEnabled = false;
    c.drawImage(this.scene, at, 0, wide, high, plot.left, plot.top, plot.width,
      plot.height);
  }

  render(key, wide, high, theme) {
    const {x, y, scale} = this, span = x[1] - x[0], from = x[0] - span / 2;
    const across = power(span / wide), down = power((y[1] - y[0]) / high);
    const {colour, waits} = this.picture.get(across, down);
    const part = [from / across, y[0] / down, 2 * span / across,
      (y[1] - y[0]) / down];
    const to = [0, 0, 2 * wide, high];
    const s = this.sceneContext ??= this.scene.getContext('2d');
    s.clearRect(0, 0, this.scene.width, this.scene.height);
    s.imageSmoothingEnabled = false;
    s.drawImage(colour, ...part, ...to);
    const l = this.layerContext ??= this.layer.getContext('2d');
    l.globalCompositeOperation = 'source-over';
    l.clearRect(0, 0, this.layer.width, this.layer.height);
    l.imageSmoothingEnabled = false;
    l.drawImage(waits, ...part, ...to);
    l.globalCompositeOperation = 'source-in';
    this.pattern ??= hatch(l, theme.card, scale);
    l.fillStyle = this.pattern;
    l.fillRect(...to);
    s.drawImage(this.layer, 0, 0);
    this.made = {key, from, picture: this.picture};
    this.renders++;
  }

  // Names, and lines between nodes: the same for all movements in time.
  drawOver(plot, theme) {
    const {scale, y, width, height} = this;
    const key = [...y, width, height, scale].join(' ');
    if (this.overKey !== key || this.overRows !== this.rows ||
      this.overTheme !== theme) {
      const c = this.overContext ??= this.over.getContext('2d');
      c.setTransform(1, 0, 0, 1, 0, 0);
      c.clearRect(0, 0, this.over.width, this.over.height);
      c.setTransform(scale, 0, 0, scale, 0, 0);
      c.font = `11.5px ${theme.font}`;
      c.textBaseline = 'middle';
      this.drawNames(c, plot, theme);
      Object.assign(this, {overKey: key, overRows: this.rows,
        overTheme: theme});
    }
    this.context.drawImage(this.over, 0, 0, width, height);
  }

  xOf(bin, plot) {
    return plot.left + (bin - this.x[0]) / (this.x[1] - this.x[0]) * plot.width;
  }

  yOf(row, plot) {
    return plot.top + (row - this.y[0]) / (this.y[1] - this.y[0]) * plot.height;
  }

  drawTime(plot, theme) {
    const {context: c, cells} = this;
    const span = (this.x[1] - this.x[0]) * cells.width; // us
    const rough = span / Math.max(2, plot.width / 90);
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find(n => n * unit >= rough) * unit;
    c.font = `11.5px ${theme.font}`;
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    for (let t = Math.ceil(this.x[0] * cells.width / step) * step;
      t <= this.x[1] * cells.width; t += step) {
      const x = this.xOf(t / cells.width, plot);
      c.fillStyle = theme.line;
      c.fillRect(x, plot.top - 5, 1, 5);
      c.fillStyle = theme.soft;
      if (x < this.width - 16 && x > plot.left + 8)
        c.fillText(tick(Math.round(t * 1000) / 1000, step), x, plot.top - 13);
    }
  }

  // Ranks where they have room, else nodes; a line between nodes.
  drawNames(c, plot, theme) {
    const {rows} = this;
    const high = plot.height / (this.y[1] - this.y[0]);
    const room = Math.floor((plot.left - 10) / 6.4);
    c.textAlign = 'right';
    c.save();
    c.beginPath();
    c.rect(0, plot.top, this.width, plot.height);
    c.clip();
    let until = -Infinity;
    for (let r = Math.max(0, Math.floor(this.y[0]));
      r < Math.min(rows.length, Math.ceil(this.y[1])); r++) {
      const y = this.yOf(r, plot);
      const first = !r || rows[r - 1].host !== rows[r].host;
      if (first && r) {
        c.fillStyle = theme.line;
        if (high * 4 > 4) c.fillRect(0, y, this.width, 1);
      }
      c.fillStyle = theme.soft;
      if (high >= 11) {
        const name = first && plot.left > 100
          ? `${shorten(rows[r].host, room - 5)} ${rows[r].name}` : rows[r].name;
        c.fillText(shorten(name, room), plot.left - 6, y + high / 2);
      } else if (first && y >= until) {
        c.fillText(shorten(rows[r].host, room), plot.left - 6, y + 6);
        until = y + 14;
      }
    }
    c.restore();
    if (!rows.length) {
      c.textAlign = 'center';
      c.fillText('No rank matches the filter.', plot.left + plot.width / 2,
        plot.top + plot.height / 2);
    }
  }

  tellLegend() {
    const theme = this.theme = readTheme();
    const funcs = this.cells.funcs.slice(0, 8);
    const items = funcs.map(func => {
      const swatches = SIZES.map((size, i) => [size, i])
        .filter(([, i]) => this.cells.kinds.some(
          k => k.func === func && k.size === i))
        .map(([size, i]) => {
          const swatch = element('i', {title: size});
          swatch.style.background =
            `rgb(${colourOf(theme, func, i)})`;
          return swatch;
        });
      return element('li', {}, ...swatches, element('button', {type: 'button',
        click: () => window.jobprof.setFilter({func:
          window.jobprof.filter.func === func ? null : func})}, func));
    });
    if (this.cells.waits)
      items.push(element('li', {}, element('i', {class: 'waits'}), 'waits'));
    items.push(element('li', {class: 'soft'},
      'pale: small messages; faint: a part of the time'));
    this.legend.replaceChildren(...items);
  }

  notes() {
    const {rowsLeft, waits} = this.cells;
    return [
      rowsLeft ? `${rowsLeft} more ranks are not drawn.` : '',
      waits ? '' : 'Waits are not known.',
      `A bin is ${us(this.cells.width)} long.`,
    ].filter(Boolean).join(' ');
  }

  describe() {
    const at = bin => us(bin * this.cells.width);
    return `Timeline of ${this.rows.length} ranks, from ${at(this.x[0])} to ` +
      `${at(this.x[1])}`;
  }

  // --- what is at a place

  // The cell below a point of the canvas; null: none.
  at(px, py) {
    const left = this.gutter();
    const row = Math.floor(this.y[0] + (py - AXIS) / (this.height - AXIS) *
      (this.y[1] - this.y[0]));
    const place = this.x[0] + (px - left) / (this.width - left) *
      (this.x[1] - this.x[0]);
    const bin = Math.floor(place);
    if (!this.rows[row] || py < AXIS) return null;
    if (px < left) return {row: this.rows[row]};
    if (bin < 0 || bin >= this.cells.bins) return null;
    const single = singleAt(this, row, place);
    if (single) return {row: this.rows[row], bin, single, kind: single.kind};
    const i = this.rows[row].at * this.cells.bins + bin;
    return {row: this.rows[row], bin, level: this.cells.levels[i],
      kind: this.cells.kinds[this.cells.kind[i] - 1]};
  }

  words({row, bin, level, kind, single}) {
    const who = `Rank ${row.name} (${row.host})`;
    if (bin === undefined) return who;
    const when = `${who} at ${us(bin * this.cells.width)}`;
    if (single) return `${when}: ${singleWords(single)}.`;
    if (!level) return `${when}: in no operation.`;
    const busy = Math.round((level & 15) / 15 * 100);
    const waits = Math.round((level >> 4) / 15 * 100);
    return `${when}: ${kind ? `${kind.func} of ${kind.name || kind.id}, ${
      SIZES[kind.size]}` : 'operations'}; in operations ${busy || 1} %` +
      `${this.cells.waits ? `, of that waiting ${waits} %` : ''}.`;
  }

  tell(found) {
    if (!found) return;
    const set = (label, change) => element('button', {type: 'button',
      click: () => window.jobprof.setFilter(change)}, label);
    const {row, kind} = found;
    this.told.replaceChildren(`${this.words(found)} Only: `,
      ...(row.rank ? [set(`rank ${row.rank}`, {rank: row.rank})] : []),
      set(row.host, {node: row.host}),
      ...(kind ? [set(kind.func, {func: kind.func}),
        set(kind.name || kind.id, {comm: kind.id})] : []));
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  hover(px, py) {
    const found = this.pointers.size ? null : this.at(px, py);
    this.tip.hidden = !found;
    if (!found) return;
    this.tip.textContent = this.words(found);
    this.tip.style.left = `${Math.min(px + 12, Math.max(0, this.width - 260))}px`;
    this.tip.style.top = `${py + 16}px`;
  }

  // --- mouse, touch, keys

  listen() {
    const {canvas} = this;
    this.pointers = new Map();
    const forget = event => {
      this.pointers.delete(event.pointerId);
      this.start = undefined;
    };
    canvas.addEventListener('pointerdown', event => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, this.point(event));
      this.moved = this.pointers.size > 1 || event.button > 0;
      this.tip.hidden = true;
    });
    canvas.addEventListener('pointermove', event => {
      const before = this.pointers.get(event.pointerId);
      const [px, py] = this.point(event);
      if (!before) {
        this.hover(px, py);
        return;
      }
      this.drag(event, before, [px, py]);
      this.pointers.set(event.pointerId, [px, py]);
    });
    canvas.addEventListener('pointerup', event => {
      if (!this.moved) this.tell(this.at(...this.point(event)));
      forget(event);
    });
    canvas.addEventListener('pointercancel', forget);
    canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    canvas.addEventListener('dblclick', event => {
      const left = this.gutter();
      this.zoom(0.25, Math.max(0, this.point(event)[0] - left) /
        (this.width - left));
    });
    canvas.addEventListener('wheel', event => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const left = this.gutter(), [px, py] = this.point(event);
      const by = 2 ** (event.deltaY / 200);
      if (event.shiftKey)
        this.zoom(by, (py - AXIS) / (this.height - AXIS), 'y');
      else
        this.zoom(by, Math.max(0, px - left) / (this.width - left));
    }, {passive: false});
    canvas.addEventListener('keydown', event => this.key(event));
    const repaint = () => {
      this.pattern = undefined;
      this.picture.made.clear();
      this.tellLegend();
      this.draw(); // paper waits for no frame
    };
    window.addEventListener('themechange', repaint);
    matchMedia('(prefers-color-scheme: dark)')
      .addEventListener('change', repaint);
  }

  drag(event, [fromX, fromY], [toX, toY]) {
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId);
    const width = this.width - this.gutter();
    if (others.length) {
      const [otherX] = others[0][1];
      const was = Math.abs(fromX - otherX), is = Math.abs(toX - otherX);
      if (was > 8 && is > 8)
        this.zoom(was / is, ((fromX + otherX) / 2 - this.gutter()) / width);
      return;
    }
    if (Math.abs(toX - fromX) + Math.abs(toY - fromY) > 2) this.moved = true;
    this.move((fromX - toX) / width);
    this.move((fromY - toY) / (this.height - AXIS), 'y');
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const axis = event.shiftKey ? 'y' : 'x';
    const acts = {
      '+': () => this.zoom(0.5, 0.5, axis), '=': () => this.zoom(0.5),
      '*': () => this.zoom(0.5, 0.5, 'y'),
      '-': () => this.zoom(2), _: () => this.zoom(2, 0.5, 'y'),
      ArrowLeft: () => this.move(-0.1), ArrowRight: () => this.move(0.1),
      ArrowUp: () => this.move(-0.1, 'y'), ArrowDown: () => this.move(0.1, 'y'),
      PageUp: () => this.move(-0.9, 'y'), PageDown: () => this.move(0.9, 'y'),
      0: () => this.fit(), Escape: () => this.fit(), Home: () => this.fit(),
      Enter: () => this.tell(this.at((this.width + this.gutter()) / 2,
        (this.height + AXIS) / 2)),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }
}

export function addTimeline() {
  const figure = document.querySelector('figure.timeline');
  const cells = figure && readCells();
  return cells && cells.rows.length ? new Timeline(figure, cells) : null;
}
