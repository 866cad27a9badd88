// heat.js - what the heat maps share.

// The figures come flat, [row, column, value..., row, column, value...].
export function unflatten(list, size) {
  const rows = [];
  for (let i = 0; i + size <= list.length; i += size)
    rows.push(list.slice(i, i + size));
  return rows;
}

// Room for labels at the left and how many characters fit there.
export function labelRoom(names, look) {
  const most = look.narrow ? 88 : 250;
  const longest = names.reduce((n, name) => Math.max(n, name.length), 1);
  const width = Math.min(most, 14 + 6.7 * longest);
  return {width, characters: Math.max(4, Math.round((width - 14) / 6.7))};
}

// A row's height: all labels can be read while there are few.
export const rowHeight = rows => (rows > 40 ? 11 : rows > 16 ? 15 : 20);

export function scale(theme, {min, max, colours, formatter, dimension = 2}) {
  return {
    type: 'continuous', min, max, dimension, calculable: false,
    orient: 'horizontal', right: 8, top: 0, itemWidth: 10, itemHeight: 120,
    inRange: {color: colours}, formatter,
    text: [formatter(max), formatter(min)],
    textStyle: {color: theme.text, fontFamily: theme.font, fontSize: 12},
  };
}
