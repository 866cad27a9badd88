// theme.js - colours of the page's style sheet, for charts.

// The series colours are Okabe and Ito's, which colour-blind readers can tell
// apart, darkened or lightened for the page; heat goes by lightness, off (below
// and above the usual) from orange to blue.
export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const one = name => style.getPropertyValue(name).trim();
  const list = name => one(name).split(',').map(colour => colour.trim());
  return {
    text: one('--text'), soft: one('--soft'), line: one('--line'),
    card: one('--card'), bad: one('--bad'),
    series: list('--series'), heat: list('--heat'), off: list('--off'),
    font: getComputedStyle(document.body).fontFamily,
  };
}

// "#0072b2" or "#fff" as [r, g, b]
export function rgb(colour) {
  const n = parseInt(colour.slice(1), 16);
  return colour.length === 4
    ? [17 * (n >> 8), 17 * (n >> 4 & 15), 17 * (n & 15)]
    : [n >> 16, n >> 8 & 255, n & 255];
}
const mix = (a, b, share) => a.map((v, i) => Math.round(v + (b[i] - v) * share));

// One colour a function in every report and chart, so that pages can be compared.
// It depends on the name alone: these have theirs, others one by their letters.
const FIXED = ['AllReduce', 'AllGather', 'ReduceScatter', 'Send', 'Recv',
  'Broadcast', 'Reduce', 'AlltoAll', 'Gather', 'Scatter'];
const OTHERS = 14;

// The function's colour as [r, g, b]; pale: how much of the page's is in it.
export function functionColour(theme, func, pale = 0) {
  // AllReduce-Graph and AllGather-CE are variants of one function
  const name = func.split('-')[0], fixed = FIXED.indexOf(name);
  const letters = [...name].reduce((sum, c) => (31 * sum + c.charCodeAt(0)) %
    65521, 7);
  const at = fixed >= 0 ? fixed : FIXED.length + letters % OTHERS;
  const {series} = theme;
  const full = mix(rgb(series[at % series.length]), rgb(theme.text),
    0.3 * Math.floor(at / series.length));
  return mix(full, rgb(theme.card), pale);
}

const symbols = ['circle', 'rect', 'triangle', 'diamond', 'emptyCircle',
  'emptyRect', 'emptyTriangle', 'emptyDiamond'];
const dashes = ['solid', 'dashed', 'dotted'];

// The look of each line of a chart: its colour is that of its function (`coll`), lines
// of one function differ by dash and paleness, and all by their symbol.
const PALER = [0, 0.25, 0.45, 0.6];
export function functionLooks(theme, lines) {
  const seen = {};
  return lines.map(({coll}, at) => {
    const i = seen[coll] = (seen[coll] ?? -1) + 1;
    return {...seriesLook(theme, at), dash: dashes[i % dashes.length],
      color: functionHex(theme, coll, PALER[Math.min(i, PALER.length - 1)])};
  });
}

// "#0072b2", for charts
export const functionHex = (theme, func, pale = 0) => `#${functionColour(theme,
  func, pale).map(v => v.toString(16).padStart(2, '0')).join('')}`;

// Colour, symbol and dash of series i: colour alone never tells two apart.
export function seriesLook(theme, i) {
  return {
    color: theme.series[i % theme.series.length],
    symbol: symbols[i % symbols.length],
    dash: dashes[Math.floor(i / theme.series.length) % dashes.length],
  };
}
