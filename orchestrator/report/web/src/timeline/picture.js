// picture.js - cells as pixels: a picture of all rows, and a mask of the waits,
// for each step of coarseness. What is drawn is a part of these, scaled, so that
// a frame costs the same whatever the number of ranks.
import {functionColour, readTheme, rgb} from '../theme.js';

// small messages are pale, large ones full
const PALE = [0.55, 0.3, 0];

export const colourOf = (theme, func, size) =>
  functionColour(theme, func, PALE[size]);

function canvas(width, height) {
  const c = document.createElement('canvas');
  c.width = width;
  c.height = height;
  return c;
}

export class Picture {
  constructor(cells, {rows, kinds}) {
    this.cells = cells;
    this.rows = rows;
    this.kinds = kinds;
    this.made = new Map();
  }

  // Of `across` bins and `down` rows a pixel: the cell that waits most, else
  // works most, stands for all, so that what is rare is not lost.
  get(across, down) {
    const key = `${across} ${down}`;
    if (!this.made.has(key)) {
      if (this.made.size > 5) this.made.clear();
      this.made.set(key, this.make(across, down));
    }
    return this.made.get(key);
  }

  make(across, down) {
    const {cells, rows, kinds} = this;
    const {bins, kind, levels} = cells;
    const theme = readTheme();
    const colours = cells.kinds.map((k, i) => (kinds[i]
      ? colourOf(theme, k.func, k.size) : null));
    const other = rgb(theme.soft);
    const width = Math.ceil(bins / across);
    const height = Math.max(1, Math.ceil(rows.length / down));
    const colour = new ImageData(width, height);
    const waits = new ImageData(width, height);

    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        let best = -1, score = 0;
        for (let r = y * down; r < Math.min((y + 1) * down, rows.length); r++) {
          const first = rows[r].at * bins;
          for (let b = x * across; b < Math.min((x + 1) * across, bins); b++) {
            const level = levels[first + b];
            if (level > score && (!kind[first + b] ||
                colours[kind[first + b] - 1])) {
              score = level;
              best = first + b;
            }
          }
        }
        if (best < 0) continue;
        const at = 4 * (y * width + x);
        const [r, g, b] = kind[best] ? colours[kind[best] - 1] : other;
        colour.data[at] = r;
        colour.data[at + 1] = g;
        colour.data[at + 2] = b;
        colour.data[at + 3] = 70 + 12 * (score & 15);
        waits.data[at + 3] = 17 * (score >> 4);
      }
    const made = {colour: canvas(width, height), waits: canvas(width, height)};
    made.colour.getContext('2d').putImageData(colour, 0, 0);
    made.waits.getContext('2d').putImageData(waits, 0, 0);
    return made;
  }
}

// Diagonal lines, which say "waits" whatever the colour below.
export function hatch(context, colour, scale) {
  const side = Math.round(6 * scale);
  const tile = canvas(side, side);
  const c = tile.getContext('2d');
  c.strokeStyle = colour;
  c.lineWidth = 2 * scale;
  c.beginPath();
  for (const d of [-side, 0, side]) {
    c.moveTo(d - scale, side + scale);
    c.lineTo(d + side + scale, -scale);
  }
  c.stroke();
  return context.createPattern(tile, 'repeat');
}
