#!/usr/bin/env python3
"""tests/oracles/model.py NAME: prints the model of the recorded run tests/oracles/NAME.safetensors."""
import json
import struct
import sys

with open(f'{sys.path[0]}/{sys.argv[1]}.safetensors', 'rb') as f:
    size, = struct.unpack('<Q', f.read(8))
    print(json.loads(f.read(size))['__metadata__']['model'], end='')
