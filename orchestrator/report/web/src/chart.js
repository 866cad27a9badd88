// chart.js - one figure of the page: its controls, its drawing, its keys.
//
// A kind of chart is {has(data), option(data, state, look), height(data, state,
// look), and where needed controls(data), note(data, state), zoom, patterns (on
// paper, which may have no colours)}. look is {theme, width, narrow, most}: `most`
// is the height there is, on paper. state holds the controls' values and the
// window that is zoomed to, in percent.
import {LEAST} from './axes.js';
import {init} from './echarts.js';
import {narrow, picked} from './narrow.js';
import {readTheme} from './theme.js';

const NARROW = 560;
const PAPER_HEIGHT = 330; // two to a page, whatever its rows
const hint = 'Zoom: drag the bar, Ctrl and wheel, or the keys + \u2212 \u2190 ' +
  '\u2192 and 0.';

export class Chart {
  constructor(figure, kind, data) {
    this.kind = kind;
    this.whole = this.data = data;
    this.figure = figure;
    this.name = figure.dataset.chart;
    this.state = {zoom: {start: 0, end: 100}};
    this.selects = {}; // by control
    this.idlers = []; // controls that some states have no use for
    this.caption = figure.querySelector('figcaption').textContent;
    this.addControls(figure.querySelector('figcaption'));
    this.plot = document.createElement('div');
    this.plot.className = 'plot';
    this.plot.setAttribute('role', 'img');
    this.note = document.createElement('p');
    this.note.className = 'note';
    figure.append(this.plot, this.note);
    if (kind.zoom) this.addKeys();
    this.draw();
    // in a frame of its own: drawing changes sizes, too
    new ResizeObserver(() => requestAnimationFrame(() => {
      if (!this.paper && this.plot.clientWidth !== this.width) this.draw();
    })).observe(figure);
  }

  addControls(caption) {
    const controls = this.kind.controls?.(this.data) ?? [];
    const box = document.createElement('span');
    box.className = 'controls';
    for (const {key, label, options, idle} of controls) {
      const text = document.createElement('label');
      const select = document.createElement('select');
      for (const [value, name] of options) select.add(new Option(name, value));
      this.state[key] = select.value;
      select.addEventListener('change', () => {
        this.state[key] = select.value;
        this.draw();
      });
      text.append(label, select);
      if (options.length > 1) box.append(text);
      if (idle) this.idlers.push([select, idle]);
      this.selects[key] = select;
    }
    if (box.childElementCount) caption.append(box);
  }

  // Choices count lines, of which there may be less or more now.
  renewControls() {
    for (const {key, options} of this.kind.controls?.(this.data) ?? []) {
      const select = this.selects[key];
      const before = select.selectedOptions[0]?.text;
      select.replaceChildren(
        ...options.map(([value, name]) => new Option(name, value)));
      const same = [...select.options].find(option => option.text === before);
      if (same) select.value = same.value;
      this.state[key] = select.value;
    }
  }

  addKeys() {
    this.plot.tabIndex = 0;
    this.plot.addEventListener('keydown', event => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const {start, end} = this.state.zoom;
      const span = end - start;
      const middle = (start + end) / 2;
      const windows = {
        '+': [middle - span / 4, middle + span / 4],
        '=': [middle - span / 4, middle + span / 4],
        '-': [middle - span, middle + span],
        ArrowLeft: [start - span / 4, end - span / 4],
        ArrowRight: [start + span / 4, end + span / 4],
        0: [0, 100],
        Escape: [0, 100],
      };
      const window = windows[event.key];
      if (!window) return;
      event.preventDefault();
      this.zoomTo(...window);
    });
  }

  // Around the same middle where the window would become too narrow or too wide.
  zoomTo(start, end) {
    const span = Math.min(Math.max(end - start, LEAST), 100);
    const from = Math.min(Math.max((start + end - span) / 2, 0), 100 - span);
    this.state.zoom = {start: from, end: from + span};
    this.draw();
  }

  // The page's filter: what it leaves, drawn; a word where that is nothing.
  narrow(filter) {
    if (!window.jobprof.isOn() && this.data === this.whole) return;
    this.data = window.jobprof.isOn() ? narrow(this.whole, filter) : this.whole;
    const span = this.whole.width * this.whole.slices / 1e6;
    const time = window.jobprof.time();
    const asked = filter.time ?? '';
    // only another time moves the window: a filter by rank keeps it
    if (this.kind.zoom && span > 0 && asked !== (this.asked ?? ''))
      this.state.zoom = time && time[0] < span
        ? {start: 100 * time[0] / span, end: Math.min(100, 100 * time[1] / span)}
        : {start: 0, end: 100};
    this.asked = asked;
    this.empty = !this.kind.has(this.data);
    if (!this.empty) this.renewControls();
    this.plot.hidden = this.empty;
    if (this.empty) {
      this.note.textContent = 'Nothing of this chart matches the filter.';
      this.note.hidden = false;
    } else {
      this.draw();
    }
  }

  // width: of paper, undefined: the screen's.
  print(width) {
    this.paper = width;
    this.draw();
  }

  draw() {
    if (this.empty) return;
    const theme = readTheme();
    for (const [select, idle] of this.idlers)
      select.disabled = idle(this.state);
    // within a closed fold: drawn when it opens, on paper not at all
    if (!this.plot.clientWidth) return;
    this.width = this.paper ?? this.plot.clientWidth;
    const look = {theme, width: this.width, narrow: this.width < NARROW,
      most: this.paper ? PAPER_HEIGHT : Infinity};
    const wanted = this.kind.height(this.data, this.state, look);
    const height = Math.min(wanted, look.most);
    this.plot.style.height = `${height}px`;
    this.echart ??= this.start(height);
    this.echart.resize({width: this.width, height});
    const option = this.kind.option(this.data, this.state, look);
    this.echart.setOption({
      animation: false,
      backgroundColor: 'transparent',
      textStyle: {fontFamily: theme.font, color: theme.text},
      aria: {enabled: true, label: {description: this.describe()},
        decal: {show: Boolean(this.paper && this.kind.patterns)}},
      ...option,
      dataZoom: option.dataZoom?.map(
        zoom => ({...zoom, show: this.paper === undefined})),
    }, {notMerge: true});
    this.echart.getZr().refreshImmediately(); // paper waits for no frame
    this.note.textContent = [this.kind.note?.(this.data, this.state),
      this.kind.zoom && !this.paper ? hint : ''].filter(Boolean).join(' ');
    this.note.hidden = !this.note.textContent;
  }

  start(height) {
    const echart = init(this.plot, null,
      {renderer: 'svg', width: this.width, height});
    echart.on('click', event => {
      const change = picked(this.name, this.data, event, this.state);
      if (change) window.jobprof.setFilter(change);
    });
    echart.on('dataZoom', () => {
      const {start, end} = echart.getOption().dataZoom[0];
      this.state.zoom = {start, end};
    });
    return echart;
  }

  describe() {
    const note = this.kind.note?.(this.data, this.state) ?? '';
    return `${this.caption}. ${note}`.trim();
  }
}
