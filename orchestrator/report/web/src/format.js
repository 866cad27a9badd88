// format.js - numbers as the report's tables show them.

function threeDigits(value) {
  const size = Math.abs(value);
  if (size >= 99.95 || size === 0)
    return value.toLocaleString('en-US', {maximumFractionDigits: 0});
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return String(Number(value.toPrecision(size < 0.001 ? 2 : 3)));
}

// As few digits as an axis or a size needs: 64 MiB, 1.5 s.
export const short = value => String(Number(threeDigits(value).replace(/,/g, '')));

function scaled(value, step, units, digits = threeDigits) {
  let at = 0;
  while (at < units.length - 1 && Math.abs(value) >= step) {
    value /= step;
    at++;
  }
  return `${digits(value)} ${units[at]}`;
}

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

export const count = n => Math.round(n).toLocaleString('en-US');
export const bytes = n => scaled(n, 1024, binary, short);
export const gbs = value => `${threeDigits(value)} GB/s`;
export const plain = threeDigits;
export const percent = share => `${Number((100 * share).toPrecision(3))} %`;

export function us(value) {
  if (value === null) return 'unknown';
  if (Math.abs(value) < 60e6)
    return scaled(value, 1000, ['\u00b5s', 'ms', 's']);
  const minutes = value / 60e6;
  return minutes < 60 ? `${threeDigits(minutes)} min`
    : `${threeDigits(minutes / 60)} h`;
}

// A time on an axis whose labels are at least `step` us apart: with the digits
// that tell neighbours apart, "1.2345 s". Nothing needs no unit.
export function tick(value, step) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  const [unit, name] = size < 1e3 ? [1, '\u00b5s']
    : size < 1e6 ? [1e3, 'ms'] : [1e6, 's'];
  const digits = Math.ceil(Math.log10(unit / step) - 1e-9);
  return `${Number((value / unit).toFixed(Math.min(Math.max(digits, 0), 9)))} ${
    name}`;
}

// "AllReduce 256 MiB, hca-only", each name once: with all digits where sizes are
// so close that they read alike.
export function cellNames(cells) {
  const names = cells.map(c => `${c.coll} ${bytes(c.bytes)}, ${c.type}`);
  return cells.map((c, i) => (names.indexOf(names[i]) ===
    names.lastIndexOf(names[i]) ? names[i]
    : `${c.coll} ${count(c.bytes)} B, ${c.type}`));
}

// At most n characters, with an ellipsis in the middle: ends of names differ.
export function shorten(text, n) {
  if (text.length <= n) return text;
  const tail = Math.floor((n - 1) / 2);
  return `${text.slice(0, n - 1 - tail)}\u2026${text.slice(-tail)}`;
}
