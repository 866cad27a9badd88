// view.js - one filter for all tables and charts, kept in the address; copies of
// tables and commands; names cut in the middle.
(() => {
  // What can be filtered, and the columns that tell it. A rank is one of the
  // job: where a table has ranks of communicators, the process says which.
  const KEYS = {
    rank: {label: 'Rank', columns: []},
    node: {label: 'Node', columns: ['Node', 'Host', 'From host', 'To host']},
    comm: {label: 'Communicator', columns: ['Communicator']},
    func: {label: 'Function', columns: ['Function', 'Recorded by']},
    size: {label: 'Size', columns: ['Size']},
    time: {label: 'Time, s', columns: []},
  };
  const filter = {};
  const listeners = [];
  const values = {rank: new Map(), node: new Map(), comm: new Map(),
    func: new Map(), size: new Map()};
  const rankOf = new Map(); // "host pid" -> rank in the job

  jobprof.filter = filter;
  jobprof.onFilter = listener => { listeners.push(listener); listener(filter); };
  // Names that only charts know: rank, node, comm ... -> value, label.
  jobprof.offer = (key, value, label = value) => {
    if (value !== '' && value != null) values[key].set(String(value), label);
  };
  jobprof.process = (host, pid, rank) => rankOf.set(`${host} ${pid}`, rank);
  jobprof.isOn = () => Object.keys(filter).length > 0;
  jobprof.setFilter = change => {
    for (const [key, value] of Object.entries(change))
      if (value === null || value === '') delete filter[key];
      else filter[key] = String(value);
    put();
    apply();
  };
  // From and to in seconds; null: all.
  jobprof.time = () => {
    const [from, to] = (filter.time ?? '').split('-').map(Number);
    return filter.time && to > from ? [from, to] : null;
  };

  // --- the address: #section&rank=3&time=1.5-2
  function address(id) {
    const pairs = Object.entries(filter)
      .map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
    return `#${[id, ...pairs].filter(Boolean).join('&')}`;
  }

  function put() {
    const hash = address(jobprof.section());
    if (hash !== (location.hash || '#'))
      history.replaceState(null, '', hash === '#' ? location.pathname +
        location.search : hash);
  }

  function read() {
    const pairs = location.hash.slice(1).split('&').filter(p => p.includes('='));
    for (const key of Object.keys(filter)) delete filter[key];
    for (const pair of pairs) {
      const at = pair.indexOf('=');
      const key = pair.slice(0, at);
      if (!(key in KEYS)) continue;
      try {
        filter[key] = decodeURIComponent(pair.slice(at + 1)).slice(0, 200);
      } catch { /* not ours */ }
    }
  }

  // A link within the page keeps the filter.
  function onHash() {
    if (location.hash.includes('=') || !jobprof.isOn()) {
      read();
      apply();
    } else {
      put();
    }
  }

  // --- tables
  const text = cell => cell.dataset.full ?? cell.textContent;

  function columnsOf(table) {
    const heads = [...table.tHead.rows[0].cells].map(h => h.textContent.trim());
    const found = {};
    for (const [key, {columns}] of Object.entries(KEYS)) {
      const at = columns.map(c => heads.indexOf(c)).filter(i => i >= 0);
      if (at.length) found[key] = at;
    }
    const host = heads.indexOf('Host'), pid = heads.indexOf('Process');
    if (host >= 0 && pid >= 0) found.process = [host, pid];
    else if (heads.includes('Rank')) found.world = heads.indexOf('Rank');
    if (heads[0] === 'Id' && heads[1] === 'Name') found.comm = [0];
    // ranges of sizes are not sizes
    if (found.size && /\sto\s/.test(table.tBodies[0].rows[0]?.cells[
      found.size[0]]?.textContent ?? '')) delete found.size;
    return found;
  }

  const valueOf = (row, key, at) => (key === 'size'
    ? row.cells[at].dataset.v ?? '' : text(row.cells[at]));

  function rankOfRow(row, columns) {
    if (columns.process) {
      const [host, pid] = columns.process;
      return rankOf.get(`${text(row.cells[host])} ${row.cells[pid].dataset.v ??
        text(row.cells[pid])}`);
    }
    return columns.world === undefined ? undefined
      : text(row.cells[columns.world]);
  }

  function shows(row, columns) {
    for (const key of ['node', 'comm', 'func', 'size'])
      if (filter[key] && columns[key] &&
          !columns[key].some(at => valueOf(row, key, at) === filter[key]))
        return false;
    const rank = filter.rank && rankOfRow(row, columns);
    return !rank || rank === filter.rank;
  }

  const tables = [];

  // Long tables in pages, of the rows that match; paper has all of them.
  const PAGE = 20, LONG = 30;

  function turnPage(entry, page = 0) {
    const {table, pages} = entry;
    if (!pages) return;
    const rows = [...table.tBodies[0].rows].filter(row => !row.hidden);
    const last = Math.max(0, Math.ceil(rows.length / PAGE) - 1);
    entry.page = Math.min(Math.max(page, 0), last);
    const from = entry.all ? 0 : entry.page * PAGE;
    const to = entry.all ? rows.length : from + PAGE;
    rows.forEach((row, i) =>
      row.classList.toggle('off', i < from || i >= to));
    pages.where.textContent = rows.length ? `Rows ${from + 1} to ${
      Math.min(to, rows.length)} of ${rows.length}` : '';
    pages.back.disabled = entry.all || entry.page === 0;
    pages.next.disabled = entry.all || entry.page === last;
    pages.all.textContent = entry.all ? 'Pages' : 'All rows';
    table.parentElement.classList.toggle('paged', !entry.all);
  }

  function addPages(entry, tools) {
    if (entry.table.tBodies[0].rows.length <= LONG) return;
    const add = (label, click) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'page';
      button.textContent = label;
      button.addEventListener('click', click);
      return button;
    };
    const where = document.createElement('span');
    where.className = 'note';
    where.setAttribute('role', 'status');
    const box = document.createElement('span');
    entry.pages = {where,
      back: add('Previous', () => turnPage(entry, entry.page - 1)),
      next: add('Next', () => turnPage(entry, entry.page + 1)),
      all: add('All rows', () => {
        entry.all = !entry.all;
        turnPage(entry);
      })};
    const {back, next, all} = entry.pages;
    box.className = 'pages';
    box.append(where, back, next, all);
    tools.prepend(box);
    entry.table.addEventListener('sorted', () => turnPage(entry));
    turnPage(entry);
  }

  function applyTable(entry) {
    const {table, columns, note} = entry;
    const body = table.tBodies[0];
    let hidden = 0;
    for (const row of body.rows) {
      row.hidden = !shows(row, columns);
      hidden += row.hidden;
    }
    // what was looked for is not left in a fold
    const fold = table.closest('details.folded');
    const asked = Object.keys(filter).some(key => columns[key] ||
      (key === 'rank' && (columns.process || columns.world !== undefined)));
    if (fold && asked && hidden < body.rows.length) fold.open = true;
    note.hidden = !hidden;
    note.textContent = `${body.rows.length - hidden} of ${body.rows.length} ` +
      'rows: the others do not match the filter.';
    turnPage(entry);
  }

  // --- copies
  async function copy(what, button) {
    const words = button.textContent;
    let done = true;
    try {
      await navigator.clipboard.writeText(what);
    } catch { // not allowed for files by some browsers
      const area = document.createElement('textarea');
      area.value = what;
      area.style.position = 'fixed';
      document.body.append(area);
      area.select();
      done = document.execCommand('copy');
      area.remove();
      button.focus();
    }
    button.textContent = done ? 'Copied' : 'Not allowed';
    setTimeout(() => { button.textContent = words; }, 1500);
  }
  jobprof.copy = copy;

  function copyButton(label, what, title) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = label;
    button.title = title;
    button.addEventListener('click', () => copy(what(), button));
    return button;
  }

  // Tab-separated, for spreadsheets; figures as numbers, rows of all pages.
  function tsv(table) {
    const line = cells => cells.map(c => c.replace(/\s+/g, ' ').trim())
      .join('\t');
    const rows = [...table.tBodies[0].rows].filter(row => !row.hidden);
    return `${[line([...table.tHead.rows[0].cells].map(c => c.textContent)),
      ...rows.map(row => line([...row.cells].map(
        cell => cell.dataset.v ?? text(cell))))].join('\n')}\n`;
  }
  jobprof.tsv = tsv;

  // Ends of names differ: cut in the middle, whole in the title and in copies.
  const LONGEST = 44;
  function shorten(cell) {
    const leaf = cell.querySelector('code') ?? cell;
    const whole = cell.textContent;
    if (whole.length <= LONGEST || leaf.children.length ||
        cell.matches('.wrap,.code,.n')) return;
    const tail = Math.floor((LONGEST - 1) / 2);
    cell.dataset.full = whole;
    cell.title = whole;
    leaf.textContent =
      `${whole.slice(0, LONGEST - 1 - tail)}\u2026${whole.slice(-tail)}`;
  }

  function addTable(table) {
    const scroll = table.parentElement;
    const columns = columnsOf(table);
    const tools = document.createElement('div');
    const note = document.createElement('span');
    tools.className = 'tools';
    note.className = 'note';
    note.setAttribute('role', 'status');
    tools.append(note, copyButton('Copy table', () => tsv(table),
      'Copies all rows that match the filter, tab-separated'));
    scroll.before(tools);
    for (const row of table.tBodies[0].rows) {
      for (const cell of row.cells) shorten(cell);
      for (const key of ['node', 'comm', 'func', 'size'])
        for (const at of columns[key] ?? []) {
          const cell = row.cells[at];
          if (!cell || !valueOf(row, key, at) || text(cell) === '-') continue;
          cell.dataset.key = key;
          jobprof.offer(key, valueOf(row, key, at), key === 'comm'
            ? `${text(row.cells[at + 1] ?? cell)} ${text(cell)}` : text(cell));
        }
      if (columns.world !== undefined && row.cells[columns.world]?.dataset.v) {
        row.cells[columns.world].dataset.key = 'rank';
        jobprof.offer('rank', text(row.cells[columns.world]));
      }
    }
    table.tBodies[0].addEventListener('click', event => {
      const cell = event.target.closest('td[data-key]');
      if (!cell || getSelection().toString()) return;
      const {key} = cell.dataset;
      const value = key === 'rank' ? text(cell)
        : valueOf(cell.parentElement, key, cell.cellIndex);
      jobprof.setFilter({[key]: filter[key] === value ? null : value});
    });
    const entry = {table, columns, note};
    tables.push(entry);
    addPages(entry, tools);
  }

  // --- the bar at the page's foot
  let bar, summary, stamp = 0;
  const inputs = {};

  function fillOptions() {
    const order = (a, b) => a[1].localeCompare(b[1], 'en', {numeric: true});
    for (const [key, input] of Object.entries(inputs)) {
      if (key === 'time') continue;
      const chosen = filter[key] ?? '';
      const list = [...values[key]].sort(key === 'size'
        ? (a, b) => a[0] - b[0] : order);
      if (chosen && !values[key].has(chosen)) list.push([chosen, chosen]);
      input.replaceChildren(new Option('all', ''),
        ...list.map(([value, label]) => new Option(label, value)));
      input.value = chosen;
      input.disabled = !list.length;
    }
    inputs.time.value = filter.time ?? '';
  }

  function addBar(main) {
    bar = document.createElement('details');
    bar.className = 'filter';
    summary = document.createElement('summary');
    const fields = document.createElement('div');
    for (const [key, {label}] of Object.entries(KEYS)) {
      const field = document.createElement('label');
      const input = document.createElement(key === 'time' ? 'input' : 'select');
      if (key === 'time') {
        input.placeholder = 'from-to';
        input.size = 11;
      }
      input.addEventListener('change', () =>
        jobprof.setFilter({[key]: input.value}));
      inputs[key] = input;
      field.append(`${label} `, input);
      fields.append(field);
    }
    const clear = document.createElement('button');
    clear.type = 'button';
    clear.textContent = 'Clear';
    clear.addEventListener('click', () => jobprof.setFilter(
      Object.fromEntries(Object.keys(KEYS).map(key => [key, null]))));
    fields.append(clear, copyButton('Copy link', () => location.href,
      'Copies the address of this view'));
    bar.append(summary, fields);
    bar.addEventListener('toggle', () => bar.open && fillOptions());
    main.append(bar);
  }

  function apply() {
    tables.forEach(applyTable);
    if (bar) {
      const on = Object.entries(filter).map(([key, value]) =>
        `${KEYS[key].label.replace(', s', '')} ${values[key]?.get(value) ??
          value}${key === 'time' ? ' s' : ''}`);
      summary.textContent = on.length ? `Filter: ${on.join(', ')}`
        : 'Filter';
      bar.classList.toggle('on', on.length > 0);
      fillOptions();
    }
    // charts take a while: the last change of several draws them
    const mine = ++stamp;
    requestAnimationFrame(() => {
      if (mine === stamp) for (const listener of listeners) listener(filter);
    });
  }

  read();
  document.addEventListener('DOMContentLoaded', () => {
    document.querySelectorAll('.scroll > table').forEach(addTable);
    document.querySelectorAll('.command code, dl.commands code').forEach(
      code => {
        const button = copyButton('Copy', () => code.textContent,
          'Copies the command');
        button.setAttribute('aria-label', `Copy: ${code.textContent}`);
        code.after(' ', button);
      });
    const main = document.getElementById('main');
    if (!main) return;
    addBar(main);
    apply();
    window.addEventListener('hashchange', onHash);
  });
})();
