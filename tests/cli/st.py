"""Safetensors files, for tests."""
import json


def read(path):
    """Returns the entries of the tensors, the metadata and the bytes of all tensors."""
    with open(path, 'rb') as file:
        data = file.read()
    end = 8 + int.from_bytes(data[:8], 'little')
    entries = json.loads(data[8:end])
    return entries, entries.pop('__metadata__', {}), data[end:]


def values(path):
    """Returns the bytes of each tensor."""
    entries, _, data = read(path)
    return {name: data[slice(*t['data_offsets'])] for name, t in entries.items()}


def write(path, entries, metadata, data):
    text = json.dumps({'__metadata__': metadata, **entries}).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(len(text).to_bytes(8, 'little') + text + data)
