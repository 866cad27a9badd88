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

const symbols = ['circle', 'rect', 'triangle', 'diamond', 'emptyCircle',
  'emptyRect', 'emptyTriangle', 'emptyDiamond'];
const dashes = ['solid', 'dashed', 'dotted'];

// Colour, symbol and dash of series i: colour alone never tells two apart.
export function seriesLook(theme, i) {
  return {
    color: theme.series[i % theme.series.length],
    symbol: symbols[i % symbols.length],
    dash: dashes[Math.floor(i / theme.series.length) % dashes.length],
  };
}
