// inflate.js - unpack what the page carries packed: RFC 1951, at once, without
// the browser's streams, which older ones lack and which answer later.
'use strict';
window.jobprof = {};
jobprof.inflate = (() => {
  const base = (n, extra) => {
    const list = [];
    for (let i = 0, at = n; i < extra.length; at += 1 << extra[i], i++)
      list.push(at);
    return list;
  };
  const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3,
    3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
  const LENGTHS = base(3, LENGTH_EXTRA);
  LENGTHS[28] = 258;
  const DISTANCE_EXTRA = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7,
    8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
  const DISTANCES = base(1, DISTANCE_EXTRA);
  const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1,
    15];

  // Symbols by code of so many bits, looked up whole: value << 4 | length.
  function table(lengths) {
    const most = Math.max(...lengths);
    const codes = new Uint32Array(1 << most);
    let code = 0;
    for (let bits = 1; bits <= most; bits++, code <<= 1)
      for (let symbol = 0; symbol < lengths.length; symbol++) {
        if (lengths[symbol] !== bits) continue;
        let turned = 0;
        for (let i = 0; i < bits; i++) turned |= (code >> i & 1) << bits - 1 - i;
        for (let i = turned; i < codes.length; i += 1 << bits)
          codes[i] = symbol << 4 | bits;
        code++;
      }
    return {codes, most};
  }

  return text => {
    const raw = atob(text);
    const bytes = Uint8Array.from(raw, c => c.charCodeAt(0));
    let out = new Uint8Array(8 * bytes.length + 64);
    let n = 0, at = 0, hold = 0, held = 0;

    function need(bits) {
      for (; held < bits; held += 8) hold |= (bytes[at++] ?? 0) << held;
    }
    function take(bits) {
      need(bits);
      const value = hold & (1 << bits) - 1;
      hold >>>= bits;
      held -= bits;
      return value;
    }
    function symbol({codes, most}) {
      need(most);
      const code = codes[hold & (1 << most) - 1];
      if (!code || at > bytes.length + 4) throw new Error('damaged data');
      hold >>>= code & 15;
      held -= code & 15;
      return code >> 4;
    }
    function room(more) {
      if (n + more <= out.length) return;
      const larger = new Uint8Array(2 * (n + more));
      larger.set(out);
      out = larger;
    }
    function lengthsOf(count, codes) {
      const list = [];
      while (list.length < count) {
        const s = symbol(codes);
        if (s < 16) { list.push(s); continue; }
        const last = s === 16 ? list[list.length - 1] : 0;
        const times = s === 16 ? 3 + take(2) : s === 17 ? 3 + take(3)
          : 11 + take(7);
        for (let i = 0; i < times; i++) list.push(last);
      }
      return list;
    }
    function trees(type) {
      if (type === 1)
        return [table([...Array(144).fill(8), ...Array(112).fill(9),
          ...Array(24).fill(7), ...Array(8).fill(8)]),
        table(Array(30).fill(5))];
      const literals = 257 + take(5), distances = 1 + take(5);
      const lengths = Array(19).fill(0);
      for (let i = 4 + take(4), k = 0; k < i; k++) lengths[ORDER[k]] = take(3);
      const all = lengthsOf(literals + distances, table(lengths));
      return [table(all.slice(0, literals)), table(all.slice(literals))];
    }

    for (let last = 0; !last;) {
      last = take(1);
      const type = take(2);
      if (type === 0) {
        at -= held >> 3;
        hold = held = 0;
        const size = bytes[at] | bytes[at + 1] << 8;
        at += 4;
        room(size);
        out.set(bytes.subarray(at, at + size), n);
        at += size;
        n += size;
        continue;
      }
      const [literals, distances] = trees(type);
      for (let s; (s = symbol(literals)) !== 256;) {
        room(258);
        if (s < 256) { out[n++] = s; continue; }
        const length = LENGTHS[s - 257] + take(LENGTH_EXTRA[s - 257]);
        const d = symbol(distances);
        const from = n - DISTANCES[d] - take(DISTANCE_EXTRA[d]);
        for (let i = 0; i < length; i++) out[n++] = out[from + i];
      }
    }
    return out.subarray(0, n);
  };
})();

// A packed script of the page, run where it stands.
jobprof.run = text => {
  const script = document.createElement('script');
  script.textContent = new TextDecoder().decode(jobprof.inflate(text));
  document.body.append(script);
  script.remove();
};
