// page.js - light or dark as the reader likes; tables that a click sorts.
(() => {
  const root = document.documentElement;
  const names = {auto: 'Auto', light: 'Light', dark: 'Dark'};

  // The browser may keep nothing for files; then the choice lasts for the page.
  function stored() {
    try {
      return localStorage.getItem('jobprof-theme');
    } catch {
      return null;
    }
  }

  function setTheme(theme) {
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
    else delete root.dataset.theme;
    window.dispatchEvent(new Event('themechange'));
  }

  function addSwitch(top) {
    const label = document.createElement('label');
    const select = document.createElement('select');
    label.className = 'soft';
    select.setAttribute('aria-label', 'Colours');
    for (const [value, text] of Object.entries(names))
      select.add(new Option(text, value));
    select.value = root.dataset.theme ?? 'auto';
    select.addEventListener('change', () => {
      try {
        localStorage.setItem('jobprof-theme', select.value);
      } catch { /* as above */ }
      setTheme(select.value);
    });
    label.append(select);
    top.append(label);
  }

  function addSorting(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const up = head.getAttribute('aria-sort') === 'descending';
        const key = row => row.cells[column].dataset.v;
        // names may be cut
        const whole = row => row.cells[column].dataset.full ??
          row.cells[column].textContent;
        const body = table.tBodies[0];
        const number = head.classList.contains('n');
        const compare = (a, b) => number
          ? Number(key(a) ?? -Infinity) - Number(key(b) ?? -Infinity)
          : whole(a).localeCompare(whole(b), 'en', {numeric: true});
        const rows = [...body.rows].sort(compare);
        if (!up) rows.reverse();
        for (const h of heads) h.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        body.append(...rows);
        table.dispatchEvent(new Event('sorted'));
      });
    });
  }

  // Paper is light.
  function keepPaperLight() {
    let before;
    window.addEventListener('beforeprint', () => {
      before = root.dataset.theme;
      setTheme('light');
    });
    window.addEventListener('afterprint', () => setTheme(before));
  }

  // The address: #section&rank=3&time=1.5-2, a filter behind the section.
  jobprof.section = () => {
    const part = location.hash.slice(1).split('&').find(p => !p.includes('='));
    try {
      return decodeURIComponent(part ?? '');
    } catch {
      return ''; // not ours
    }
  };

  // What a link or the address names is unfolded.
  function unfold() {
    const part = document.getElementById(jobprof.section());
    const details = part?.querySelector(':scope > details');
    if (details) details.open = true;
    part?.scrollIntoView();
  }

  // Every fold of the report at once.
  function addFolds(top) {
    const folds = document.querySelectorAll('section > details');
    const button = document.createElement('button');
    if (!folds.length) return;
    button.type = 'button';
    button.id = 'folds';
    button.textContent = 'Open all';
    button.addEventListener('click', () => {
      const open = button.textContent === 'Open all';
      for (const fold of folds) fold.open = open;
      button.textContent = open ? 'Close all' : 'Open all';
    });
    top.append(button);
  }

  // The contents say where the reader is.
  function followReader() {
    const toc = document.querySelector('.toc');
    if (!toc) return;
    const links = [...toc.querySelectorAll('a')];
    const here = document.getElementById('here');
    const wide = matchMedia('(min-width:1180px)');
    const fold = () => { toc.open = wide.matches; };
    let asked = false;

    function mark() {
      asked = false;
      let now = links[0];
      for (const link of links) {
        const part = document.getElementById(link.hash.slice(1));
        if (part && part.getBoundingClientRect().top < 120) now = link;
      }
      for (const link of links)
        if (link === now) link.setAttribute('aria-current', 'true');
        else link.removeAttribute('aria-current');
      here.textContent = now.textContent;
      document.body.classList.toggle('at-answer', now === links[0]);
    }
    fold();
    wide.addEventListener('change', fold);
    toc.addEventListener('click', event => {
      if (event.target.closest('a') && !wide.matches) toc.open = false;
    });
    addEventListener('scroll', () => {
      if (!asked) requestAnimationFrame(mark);
      asked = true;
    }, {passive: true});
    mark();
  }

  setTheme(stored());
  keepPaperLight();
  document.addEventListener('DOMContentLoaded', () => {
    const top = document.querySelector('header.top');
    if (top) {
      addFolds(top);
      addSwitch(top);
    }
    followReader();
    unfold();
    addEventListener('hashchange', unfold);
    // the same link once more changes no address
    document.addEventListener('click', event => {
      const link = event.target.closest?.('a[href^="#"]');
      if (link && link.hash === location.hash) unfold();
    });
    // findings are paragraphs: what is not known needs no line
    for (const cell of document.querySelectorAll('#findings td'))
      cell.classList.toggle('none', cell.textContent.trim() === '-');
    document.querySelectorAll('table.sortable').forEach(addSorting);
  });
})();
