"""Writes tensors as torch.save does. A test knows the hash of a file, so its bytes must not depend on the version of
Python.

    torch_save.py IN.safetensors OUT.pth [zip] [without NAME] [with NAME FLOATS] [end HEX]
"""
import struct
import sys
import zipfile

import st


def text(s):
    return b'X' + struct.pack('<I', len(s)) + s.encode()


def number(n):
    return b'J' + struct.pack('<i', n)


def tuple_of(items):
    return b'(' + b''.join(items) + b't'


def tensor(key, shape, legacy):
    count, stride = 1, []
    for n in reversed(shape):
        stride.insert(0, number(count))
        count *= n
    view = [b'N'] if legacy else []
    storage = tuple_of([text('storage'), b'ctorch\nFloatStorage\n', text(key), text('cpu'), number(count)] + view)
    return b'ctorch._utils\n_rebuild_tensor_v2\n' + tuple_of(
        [storage + b'Q', number(0), tuple_of(map(number, shape)), tuple_of(stride), b'\x89',
         b'ccollections\nOrderedDict\n)R']) + b'R'


def save(path, tensors, legacy, end=b''):
    """`tensors` maps names to shapes and bytes of floats."""
    keys = {name: str(i) for i, name in enumerate(tensors)}
    state = b'\x80\x02ccollections\nOrderedDict\n)R(' + b''.join(
        text(name) + tensor(keys[name], shape, legacy) for name, (shape, _) in tensors.items()) + b'u.'
    if not legacy:
        with zipfile.ZipFile(path, 'w') as z:
            z.writestr('archive/data.pkl', state)
            z.writestr('archive/version', '3\n')
            for name, (_, data) in tensors.items():
                z.writestr('archive/data/' + keys[name], data)
        return
    with open(path, 'wb') as file:
        file.write(b'\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.' + state)
        file.write(b'\x80\x02](' + b''.join(map(text, keys.values())) + b'e.')
        for _, data in tensors.values():
            file.write(struct.pack('<q', len(data) // 4) + data)
        file.write(end)


def read(path):
    """The network's tensors of a safetensors file, as fp32."""
    entries, _, data = st.read(path)
    tensors = {}
    for name, t in entries.items():
        part = data[slice(*t['data_offsets'])]
        if '.conv.' not in name and '.bn.' not in name:
            continue
        if t['dtype'] == 'F16':
            part = struct.pack(f'<{len(part) // 2}f', *struct.unpack(f'<{len(part) // 2}e', part))
        tensors[name] = t['shape'], part
    return tensors


if __name__ == '__main__':
    source, out, *words = sys.argv[1:]
    found, legacy, end = read(source), True, b''
    while words:
        word = words.pop(0)
        if word == 'zip':
            legacy = False
        elif word == 'without':
            del found[words.pop(0)]
        elif word == 'with':
            name, n = words.pop(0), int(words.pop(0))
            found[name] = [n], bytes(4 * n)
        else:
            end = bytes.fromhex(words.pop(0))
    save(out, found, legacy, end)
