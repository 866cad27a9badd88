// tip.js - tooltips, built of text nodes: names are foreign text.

function element(name, text, parent) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  parent?.append(e);
  return e;
}

// A heading and pairs [name, value].
export function tip(title, pairs) {
  const box = element('div');
  box.className = 'tip';
  element('b', title, box);
  const list = element('dl', undefined, box);
  for (const [name, value] of pairs) {
    element('dt', name, list);
    element('dd', value, list);
  }
  return box;
}

export function tooltip(theme, formatter, more = {}) {
  return {
    confine: true,
    transitionDuration: 0,
    backgroundColor: theme.card,
    borderColor: theme.line,
    textStyle: {color: theme.text, fontFamily: theme.font},
    formatter,
    ...more,
  };
}
