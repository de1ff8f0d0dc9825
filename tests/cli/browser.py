"""Drives a page in a headless Chromium through its debugging pipe: numbers and words on stdout, nothing else needed.

    browser.py CHROMIUM FILE.html [FOLDER]    the checks; with FOLDER, screenshots into it
"""
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile


class Browser:
    """The DevTools protocol over file descriptors 3 and 4: JSON with a zero byte after each message."""

    def __init__(self, program):
        self.home = tempfile.mkdtemp()
        to_it, self.to = os.pipe()
        self.back, from_it = os.pipe()
        # The browser requires descriptors 3 and 4; a shell opens them.
        self.process = subprocess.Popen(
            ['sh', '-c', f'exec 3<&{to_it} 4>&{from_it}; exec "$0" "$@"', program, '--headless=new', '--no-sandbox',
             '--disable-gpu', '--disable-dev-shm-usage', '--remote-debugging-pipe', '--no-first-run',
             '--user-data-dir=' + self.home, 'about:blank'],
            pass_fds=(to_it, from_it), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        os.close(to_it)
        os.close(from_it)
        self.number, self.events, self.rest, self.session = 0, [], b'', None

    def read(self):
        while b'\0' not in self.rest:
            more = os.read(self.back, 1 << 20)
            if not more:
                raise SystemExit('the browser has ended')
            self.rest += more
        message, self.rest = self.rest.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.to, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.read()
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise SystemExit(f'{method}: {answer["error"]}')
                return answer['result']
            self.events.append(answer)

    def open(self, path):
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')
        self.call('Page.navigate', url='file://' + os.path.abspath(path))
        while not any(e.get('method') == 'Page.loadEventFired' for e in self.events):
            self.events.append(self.read())

    def js(self, text):
        result = self.call('Runtime.evaluate', expression=text, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise SystemExit(f'{text}: {result["exceptionDetails"]}')
        return result['result'].get('value')

    def key(self, name):
        for kind in ('keyDown', 'keyUp'):
            code = {'ArrowLeft': 37, 'ArrowRight': 39, 'Home': 36, 'End': 35, 'Tab': 9, 'Enter': 13}[name]
            text = {'text': '\r'} if name == 'Enter' and kind == 'keyDown' else {}
            self.call('Input.dispatchKeyEvent', type=kind, key=name, code=name, windowsVirtualKeyCode=code, **text)

    def size(self, width, height, scheme='light'):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 500)
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])

    def shot(self, path):
        data = self.call('Page.captureScreenshot', format='png', captureBeyondViewport=True)['data']
        with open(path, 'wb') as f:
            f.write(base64.b64decode(data))

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # its renderers would go on writing into its home
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


failed = 0


def check(ok, words):
    global failed
    if not ok:
        failed += 1
        print('FAILED:', words)


def slider(b):
    n = b.js("JSON.parse(document.getElementById('grids').textContent).length")
    check(n > 2, f'{n} grids on the slider')
    now = ("[document.getElementById('epoch').textContent, +document.getElementById('slider').value,"
           "document.getElementById('grid').src.length, document.getElementById('grid').alt]")
    last = b.js(now)
    check(last[1] == n - 1, f'the newest grid should be shown first, not {last}')
    b.key('ArrowLeft')  # wherever the focus is
    left = b.js(now)
    check(left[1] == n - 2 and left[0] != last[0] and left[0] in left[3] and left[3] != last[3], f'key left: {left}')
    check(left[2] != last[2], 'another epoch should have another image')
    b.js("document.getElementById('slider').focus()")
    b.key('Home')
    check(b.js(now)[1] == 0, 'Home should go to the first grid')
    b.key('ArrowRight')
    check(b.js(now)[1] == 1, 'and right from there')
    b.key('End')
    check(b.js(now)[1] == n - 1, 'End should go to the newest one')
    b.js("document.getElementById('play').focus()")
    b.key('Enter')
    b.js('new Promise(function (done) { setTimeout(done, 900); })')
    playing = b.js(now)[1], b.js("document.getElementById('play').textContent")
    check(playing[0] > 0 or playing[1] == 'Play', f'it should play: {playing}')
    b.js("document.getElementById('slider').value = 0;"
         "document.getElementById('slider').dispatchEvent(new Event('input'))")
    check(b.js(now)[1] == 0 and b.js("document.getElementById('play').textContent") == 'Play', 'a hand stops it')
    broken = "Array.from(document.images).filter(function (i) { return !i.complete || !i.naturalWidth; }).length"
    check(b.js(broken) == 0, 'every image should load')
    check(b.js("Array.from(document.images).every(function (i) { return i.alt.length > 10; })"), 'alternative texts')


def plots(b):
    n = b.js("document.querySelectorAll('.plot').length")
    check(n > 0, 'there should be plots')
    now = ("Array.from(document.querySelectorAll('.plot')[0].querySelectorAll('.at, .legend b'))"
           ".map(function (e) { return e.textContent; }).join(' ')")
    b.js("document.querySelectorAll('.frame > svg')[0].focus()")
    b.key('End')
    last = b.js(now)
    b.key('ArrowLeft')
    before = b.js(now)
    check(last != before and len(before) > 8, f'keys read values of a plot: {last}, {before}')
    said = b.js("document.querySelectorAll('.plot .value')[0].textContent")
    check('epoch' in said and len(said) > 12, f'and say them: {said}')
    box = b.js("(function (r) { return [r.left, r.top, r.width, r.height]; })"
               "(document.querySelectorAll('.frame > svg')[0].getBoundingClientRect())")
    b.call('Input.dispatchMouseEvent', type='mouseMoved', x=box[0] + 3, y=box[1] + box[3] / 2)
    check(b.js(now) != before, 'so does the mouse')
    check(b.js("document.querySelectorAll('.frame > svg').length") == n, 'each has its drawing')


def layout(b, folder):
    for name, width, height, scheme in (('light', 1200, 900, 'light'), ('dark', 1200, 900, 'dark'),
                                        ('phone', 360, 740, 'light'), ('phone-dark', 360, 740, 'dark')):
        b.size(width, height, scheme)
        wide = b.js('document.documentElement.scrollWidth')
        check(wide <= width, f'{name}: {wide} pixels wide, the window has {width}')
        colour = b.js('getComputedStyle(document.body).backgroundColor')
        bright = sum(int(v) for v in colour[4:-1].split(',')) > 384
        check(bright == (scheme == 'light'), f'{name}: the background is {colour}')
        small = b.js("Array.from(document.querySelectorAll('button, input, summary')).filter(function (e) {"
                     " return e.getBoundingClientRect().height < 40; }).length")
        check(small == 0, f'{name}: {small} controls are too small for a finger')
        if folder:
            b.js('window.scrollTo(0, 0)')
            b.shot(os.path.join(folder, name + '.png'))


def quiet(b):
    """Nothing in the console, and no request but for the file."""
    for e in b.events:
        method, params = e.get('method'), e.get('params', {})
        if method in ('Runtime.exceptionThrown', 'Runtime.consoleAPICalled', 'Log.entryAdded'):
            check(False, f'console: {json.dumps(params)[:500]}')
        if method == 'Network.requestWillBeSent':
            url = params['request']['url']
            check(url.startswith(('file:', 'data:')), f'a request: {url[:200]}')


def main():
    browser = Browser(sys.argv[1])
    try:
        browser.open(sys.argv[2])
        browser.size(1200, 900)
        if browser.js("!!document.getElementById('slider')"):
            slider(browser)
        plots(browser)
        layout(browser, sys.argv[3] if len(sys.argv) > 3 else None)
        browser.js('1')
        quiet(browser)
    finally:
        browser.close()
    sys.exit(1 if failed else 0)


main()
