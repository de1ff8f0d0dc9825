"""A page of dcgan without a browser: is it well-formed, does it ask for nothing, does it say what it should?

    page.py FILE.html [WORDS ...]    WORDS must be in the text that a reader sees
"""
import base64
import html.parser
import json
import re
import struct
import sys

VOID = {'meta', 'link', 'img', 'input', 'br'}
# In SVG every tag is closed, by itself or by another one.


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.text, self.ids, self.scripts, self.images = [], [], [], set(), [], []

    def handle_starttag(self, tag, attrs, closed=False):
        a = dict(attrs)
        if len(a) != len(attrs):
            self.wrong.append(f'<{tag}> has an attribute twice')
        if any(k.startswith('on') for k in a) or 'srcset' in a or tag in ('iframe', 'object', 'embed', 'base', 'form'):
            self.wrong.append(f'<{tag} {attrs}>')
        for k in ('src', 'href'):
            if k in a and not a[k].startswith('data:'):
                self.wrong.append(f'<{tag}> asks for {a[k]}')
        if 'id' in a:
            if a['id'] in self.ids:
                self.wrong.append(f'id {a["id"]} twice')
            self.ids.add(a['id'])
        if tag == 'img':
            self.images.append(a)
        if tag == 'script':
            self.scripts.append((a.get('type'), ''))
        if tag not in VOID and not closed:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs, True)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f'</{tag}> in line {self.getpos()[0]}')

    def handle_data(self, data):
        if self.open and self.open[-1] == 'script':
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif not self.open or self.open[-1] != 'style':
            self.text.append(data)


def size(uri):
    """Width and height that a PNG or JPEG in base64 says."""
    kind, data = re.fullmatch('data:image/(png|jpeg);base64,(.*)', uri).groups()
    b = base64.b64decode(data, validate=True)
    if kind == 'png':
        return struct.unpack('>II', b[16:24])
    at = 2
    while b[at + 1] not in (0xc0, 0xc2):
        at += 2 + struct.unpack('>H', b[at + 2:at + 4])[0]
    return struct.unpack('>HH', b[at + 5:at + 9])[::-1]


def main():
    raw = open(sys.argv[1], 'rb').read()
    text = raw.decode('utf-8')  # strict
    page = Page()
    page.feed(text)
    page.close()
    wrong = page.wrong
    if page.open:
        wrong.append(f'never closed: {page.open}')
    if not text.startswith('<!DOCTYPE html>') or "default-src 'none'" not in text[:600]:
        wrong.append('doctype or policy')
    without_data = re.sub(r'"data:[^"]*"|>[\w+/=]*</script>|// .*', '', text)
    if re.search(r'\b(https?|ftp|wss?):|//[a-z]|@import|url\(', without_data):
        wrong.append('it names a place elsewhere')
    if len(raw) > 12e6:
        wrong.append(f'{len(raw)} bytes')
    if re.search('[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]', text):
        wrong.append('control characters')
    for kind, body in page.scripts:
        if kind == 'application/json':
            json.loads(body)
    for a in page.images:
        if len(a.get('alt', '')) < 10 or size(a['src']) != (int(a['width']), int(a['height'])):
            wrong.append(f'image: {dict(a, src="")}, {size(a["src"])}')
    seen = ' '.join(' '.join(page.text).split())
    wrong += [f'does not say {w!r}' for w in sys.argv[2:] if w not in seen]
    for w in wrong:
        print('FAILED:', w)
    sys.exit(1 if wrong else 0)


main()
