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
        const body = table.tBodies[0];
        const number = head.classList.contains('n');
        const compare = (a, b) => number
          ? Number(key(a) ?? -Infinity) - Number(key(b) ?? -Infinity)
          : a.cells[column].textContent.localeCompare(
              b.cells[column].textContent, 'en', {numeric: true});
        const rows = [...body.rows].sort(compare);
        if (!up) rows.reverse();
        for (const h of heads) h.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        body.append(...rows);
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

  setTheme(stored());
  keepPaperLight();
  document.addEventListener('DOMContentLoaded', () => {
    const top = document.querySelector('header.top');
    if (top) addSwitch(top);
    document.querySelectorAll('table.sortable').forEach(addSorting);
  });
})();
