// browser.mjs - drive headless Chromium by its DevTools protocol, with nothing
// but node: pages, keys, mouse, pictures; messages on the console are kept.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const PATIENCE = 90000; // ms: machines may be busy

export const sleep = ms => new Promise(done => setTimeout(done, ms));

// Messages go through pipes: descriptor 3 in, 4 out, a NUL behind each.
function start(browser, profile) {
  return spawn(browser, ['--headless', '--no-sandbox', '--disable-gpu',
    '--disable-dev-shm-usage', '--no-first-run', '--disable-extensions',
    '--disable-background-networking', '--disable-component-update',
    '--disable-sync', '--no-pings', '--host-resolver-rules=MAP * ~NOTFOUND',
    '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank'],
  {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    env: {...process.env, HOME: profile}});
}

export class Browser {
  static async open(path = process.env.CHROMIUM || 'chromium') {
    const b = new Browser();
    b.profile = mkdtempSync(join(tmpdir(), 'jobprof-browser-'));
    const child = start(path, b.profile);
    Object.assign(b, {child, number: 0, waiting: new Map(), messages: []});
    let text = '';
    child.stdio[4].on('data', data => {
      const parts = (text + data).split('\0');
      text = parts.pop();
      for (const part of parts) b.take(JSON.parse(part));
    });
    const {targetInfos} = await b.send('Target.getTargets');
    const {sessionId} = await b.send('Target.attachToTarget', {flatten: true,
      targetId: targetInfos.find(t => t.type === 'page').targetId});
    b.session = sessionId;
    for (const domain of ['Page', 'Runtime', 'Log'])
      await b.send(`${domain}.enable`);
    return b;
  }

  take(message) {
    const {id, method, params} = message;
    if (id) {
      const {done, fail} = this.waiting.get(id);
      this.waiting.delete(id);
      if (message.error) fail(new Error(message.error.message));
      else done(message.result);
    } else if (method === 'Runtime.exceptionThrown') {
      this.messages.push(params.exceptionDetails.exception?.description ??
        params.exceptionDetails.text);
    } else if (method === 'Runtime.consoleAPICalled') {
      this.messages.push(params.args.map(a => a.value).join(' '));
    } else if (method === 'Log.entryAdded') {
      this.messages.push(params.entry.text);
    }
  }

  send(method, params = {}) {
    const id = ++this.number;
    this.child.stdio[3].write(`${JSON.stringify({id, method, params,
      ...(this.session ? {sessionId: this.session} : {})})}\0`);
    return new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`${method}: no answer`)),
        PATIENCE);
      this.waiting.set(id, {fail, done: result => {
        clearTimeout(timer);
        done(result);
      }});
    });
  }

  async look(width, height, dark = false) {
    await this.send('Emulation.setDeviceMetricsOverride',
      {width, height, deviceScaleFactor: 1, mobile: false});
    await this.send('Emulation.setEmulatedMedia', {features: [
      {name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}]});
  }

  async goto(file, hash = '') {
    await this.send('Page.navigate', {url: 'about:blank'});
    await this.until(`location.href === 'about:blank'`);
    await this.send('Page.navigate', {url: `file://${file}${hash}`});
    await this.until(`location.protocol === 'file:' &&
      document.readyState === 'complete'`);
  }

  async eval(expression) {
    const {result, exceptionDetails} = await this.send('Runtime.evaluate',
      {expression, awaitPromise: true, returnByValue: true, userGesture: true});
    if (exceptionDetails)
      throw new Error(exceptionDetails.exception?.description ??
        exceptionDetails.text);
    return result.value;
  }

  // Until the expression holds; what it was last, else.
  async until(expression) {
    const end = Date.now() + PATIENCE;
    let value;
    do {
      // a page that goes has no answer
      value = await this.eval(expression).catch(error => {
        if (!/context|navigat/i.test(error.message)) throw error;
      });
      if (value) return value;
      await sleep(50);
    } while (Date.now() < end);
    return value;
  }

  async key(key, more = {}) {
    const text = key.length === 1 ? {text: key} : {};
    await this.send('Input.dispatchKeyEvent', {type: 'keyDown', key, ...text,
      ...more});
    await this.send('Input.dispatchKeyEvent', {type: 'keyUp', key, ...more});
  }

  mouse(type, x, y, more = {}) {
    return this.send('Input.dispatchMouseEvent', {type, x, y, ...more});
  }

  async click(x, y) {
    await this.mouse('mouseMoved', x, y);
    const button = {button: 'left', clickCount: 1};
    await this.mouse('mousePressed', x, y, button);
    await this.mouse('mouseReleased', x, y, button);
  }

  async picture(path, clip) {
    const {data} = await this.send('Page.captureScreenshot', {format: 'png',
      ...(clip ? {clip: {...clip, scale: 1}, captureBeyondViewport: true} : {})});
    writeFileSync(path, Buffer.from(data, 'base64'));
  }

  async close() {
    try {
      await this.send('Browser.close');
    } catch { /* it is gone */ }
    await new Promise(done => {
      if (this.child.exitCode !== null) done();
      this.child.on('exit', done);
      setTimeout(() => { this.child.kill('SIGKILL'); }, 5000).unref();
    });
    rmSync(this.profile, {recursive: true, force: true, maxRetries: 5,
      retryDelay: 200});
  }
}
