#!/usr/bin/env python3
"""Train on folders as people have them, and show what each run says and draws.

    scripts/folders.py --cats DIR --mnist DIR --cifar DIR --classes DIR --out DIR [--dcgan ./dcgan] [--size 16]
                       [--steps 800] [--only NAME,NAME]

Needs Pillow. Makes 25 folders below OUT/data from a folder of pictures, MNIST's files, CIFAR-10's .bin files and a
folder of class folders; runs `dcgan --data FOLDER --size 16 --steps 800` with each, one thread; writes what
each said to OUT/said/NAME.txt, OUT/table.md with a row for each, and OUT/sheet.png with the last grids.
Exit code 1: a run ended in another way than is known of its folder.
"""
import argparse
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import zipfile

from PIL import Image, ImageDraw

OF = {}  # name: (function that fills a folder, exit code that is right)


def folder(code=0):
    """Registers a function, whose name becomes the folder's."""
    def register(fill):
        OF[fill.__name__.replace('_', '-')] = (fill, code)
        return fill
    return register


def copy(paths, to, name='{:04}.png'):
    """Copies under other names."""
    for i, path in enumerate(paths):
        shutil.copyfile(path, os.path.join(to, name.format(i)))


@folder()
def five(o, to):
    copy(o.cats[:5], to)


@folder()
def forty(o, to):
    copy(o.cats[:40], to)


@folder()
def two_hundred(o, to):
    copy(o.cats[:200], to)


@folder()
def phone(o, to):
    """20 photos of 12 megapixels, turned by their EXIF orientation."""
    turns = {1: None, 3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}
    for i, path in enumerate(o.photos[:20]):
        orientation = (1, 3, 6, 8)[i % 4]
        im = Image.open(path).convert('RGB').resize((4032, 3024), Image.Resampling.NEAREST)
        exif = Image.Exif()
        exif[0x0112], exif[0x010f] = orientation, 'Phone'
        im = im.transpose(turns[orientation]) if turns[orientation] is not None else im
        im.save(f'{to}/IMG_{i:04}.JPG', quality=80, exif=exif)
    with open(f'{to}/VID_0007.MP4', 'wb') as file:
        file.write(b'\0\0\0\x18ftypmp42' + bytes(1000))
    with open(f'{to}/.DS_Store', 'wb') as file:
        file.write(bytes(100))


@folder()
def webp(o, to):
    for i, path in enumerate(o.cats[:100]):
        Image.open(path).save(f'{to}/{i}.webp')


@folder()
def gif_bmp(o, to):
    for i, path in enumerate(o.cats[:100]):
        Image.open(path).convert('RGB').save(f'{to}/{i}.' + ('bmp' if i % 2 else 'gif'))


@folder()
def sprites(o, to):
    """160 little monsters of 16 x 16 with alpha."""
    for i in range(160):
        r = random.Random(i)
        im = Image.new('RGBA', (16, 16))
        color = tuple(r.randrange(60, 255) for _ in range(3)) + (255,)
        for y in range(2, 14):
            for x in range(2, 8):
                if r.random() < 0.65:
                    im.putpixel((x, y), color)
                    im.putpixel((15 - x, y), color)
        for x in (5, 10):
            im.putpixel((x, 5), (0, 0, 0, 255))
        im.save(f'{to}/{i}.png')


@folder()
def digits(o, to):
    """500 digits of MNIST as grey PNGs."""
    import gzip
    with gzip.open(f'{o.mnist}/train-images-idx3-ubyte.gz') as file:
        data = file.read(16 + 500 * 784)
    for i in range(500):
        Image.frombytes('L', (28, 28), data[16 + 784 * i:16 + 784 * (i + 1)]).save(f'{to}/{i:04}.png')


@folder()
def idx(o, to):
    for name in os.listdir(o.mnist):
        os.symlink(os.path.abspath(f'{o.mnist}/{name}'), f'{to}/{name}')


@folder()
def cifar_bin(o, to):
    for name in os.listdir(o.cifar):
        os.symlink(os.path.abspath(f'{o.cifar}/{name}'), f'{to}/{name}')


@folder()
def deep(o, to):
    for i, path in enumerate(o.cats[:120]):
        below = f'{to}/2026/{i % 3}/a/b/c/d/e/f/g/{i % 7}'
        os.makedirs(below, exist_ok=True)
        shutil.copyfile(path, f'{below}/{i}.png')


@folder()
def zipped(o, to):
    with zipfile.ZipFile(f'{to}/cats.zip', 'w') as file:
        for i, path in enumerate(o.cats[:120]):
            file.write(path, f'my cats/{i}.png')


@folder()
def with_results(o, to):
    """Pictures, with the directory of a run between them."""
    copy(o.cats[:80], to)
    subprocess.run([o.dcgan, '--data', to, '--size', '32', '--steps', '4', '--out', f'{to}/run', '-q'], check=True)


@folder(3)
def results_alone(o, to):
    """The directory of a run in the place of a folder of pictures."""
    subprocess.run([o.dcgan, '--data', f'{to}/../forty', '--size', '32', '--steps', '4', '--out', f'{to}/run', '-q'],
                   check=True)


@folder()
def copies(o, to):
    for k in range(10):
        copy(o.cats[:20], to, f'{k}-{{}}.png')


@folder()
def small(o, to):
    for i, path in enumerate(o.cats[:150]):
        Image.open(path).convert('RGB').resize((12, 12)).save(f'{to}/{i}.png')


@folder()
def one_colour(o, to):
    for i in range(100):
        Image.new('RGB', (64, 64), (90, 120, 200)).save(f'{to}/{i}.png')


def broken(o, to, n):
    copy(o.cats[:100], to)
    for i in range(n):
        with open(f'{to}/{i:04}.png', 'r+b') as file:
            if i % 3 == 0:
                file.truncate(1000)
            elif i % 3 == 1:
                file.truncate(0)
            else:
                file.seek(2000)
                file.write(b'rubbish' * 20)


@folder()
def some_broken(o, to):
    broken(o, to, 5)


@folder(3)
def many_broken(o, to):
    broken(o, to, 30)


@folder(3)
def tiff_heic(o, to):
    for i, path in enumerate(o.cats[:80]):
        if i % 2:
            Image.open(path).save(f'{to}/{i}.tif')
        else:
            with open(f'{to}/IMG_{i}.HEIC', 'wb') as file:
                file.write(b'\0\0\0\x18ftypheic\0\0\0\0mif1heic' + bytes(500))


@folder()
def names(o, to):
    for i, path in enumerate(o.cats[:90]):
        name = (f'my cat ({i}).png', f'Кошка {i}.png', f'猫\n{i}.png', f"it's \"{i}\" $HOME *.png",
                f'-{i}.PNG')[i % 5]
        shutil.copyfile(path, f'{to}/{name}')


@folder(3)
def panorama(o, to):
    row = Image.new('RGB', (20000, 2000))
    for i in range(10):
        row.paste(Image.open(o.photos[i]).convert('RGB').resize((2000, 2000), Image.Resampling.NEAREST), (2000 * i, 0))
    row.save(f'{to}/PANO.jpg', quality=80)


@folder()
def class_folders(o, to):
    for path in sorted(glob.glob(f'{o.classes}/*/*.jpg')):
        below = f'{to}/{os.path.basename(os.path.dirname(path))}'
        os.makedirs(below, exist_ok=True)
        if len(os.listdir(below)) < 40:
            shutil.copyfile(path, f'{below}/{os.path.basename(path)}')


@folder()
def odd_kinds(o, to):
    """CMYK JPEGs, PNGs with a palette, of 16 bits and of 1 bit."""
    for i, path in enumerate(o.cats[:100]):
        im = Image.open(path).convert('RGB')
        if i % 4 == 0:
            im.convert('CMYK').save(f'{to}/{i}.jpeg')
        elif i % 4 == 1:
            im.quantize(32).save(f'{to}/{i}.png')
        elif i % 4 == 2:
            im.convert('L').convert('I').point(lambda v: v * 257).convert('I;16').save(f'{to}/{i}.png')
        else:
            im.convert('1').save(f'{to}/{i}.png')


@folder(3)
def empty(o, to):
    with open(f'{to}/read me.txt', 'w', encoding='utf-8') as file:
        file.write('pictures come later\n')


def run(o, name):
    """Trains; (exit code, lines that it said, the last grid or None)."""
    data, out = f'{o.out}/data/{name}', f'{o.out}/runs/{name}'
    if name == 'zipped':
        data += '/cats.zip'
    if not os.path.exists(f'{o.out}/said/{name}.txt'):
        shutil.rmtree(out, ignore_errors=True)
        command = [o.dcgan, '--data', data, '--size', str(o.size), '--steps', str(o.steps), '--threads', '1',
                   '--out', out]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        said = done.stdout.decode('utf-8', 'replace')
        with open(f'{o.out}/said/{name}.txt', 'w', encoding='utf-8') as file:
            file.write(f'{done.returncode}\n{said}')
    with open(f'{o.out}/said/{name}.txt', encoding='utf-8') as file:
        code, *lines = file.read().splitlines()
    grids = sorted(glob.glob(f'{glob.escape(out)}/epoch-*.png'))
    return int(code), lines, grids[-1] if grids else None


def row(o, name, code, lines, grid):
    """A row of the table: folder, exit code, diversity of the last grid, what was said (lines of progress left out)."""
    diversity = Image.open(grid).text.get('Diversity', '') if grid else ''
    told = [line for line in lines if not re.match(r'epoch +\d+/|reading pictures', line)]
    text = ' / '.join(told).replace(o.dcgan, 'dcgan').replace(o.out + '/', '').replace('|', '\\|')
    return f'| {name} | {code} | {diversity} | {text} |\n'


def sheet(o, grids):
    """The last grids, at most 160 points wide each, with their names."""
    columns, side = 6, 168
    image = Image.new('RGB', (columns * side, -(-len(grids) // columns) * (side + 14)), 'white')
    draw = ImageDraw.Draw(image)
    for i, (name, grid) in enumerate(grids):
        x, y = i % columns * side, i // columns * (side + 14)
        draw.text((x + 4, y + 1), name, fill='black')
        with Image.open(grid) as of:
            part = of.convert('RGB').crop((0, 0, min(of.width, 160), min(of.height, 160)))
        image.paste(part, (x + 4, y + 14))
    image.quantize(96).save(f'{o.out}/sheet.png', optimize=True)  # a third of the bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('cats', 'mnist', 'cifar', 'classes', 'out'):
        parser.add_argument('--' + name, required=True)
    parser.add_argument('--dcgan', default='./dcgan')
    parser.add_argument('--size', type=int, default=16)
    parser.add_argument('--steps', type=int, default=800)
    parser.add_argument('--only', default=','.join(OF))
    o = parser.parse_args()
    o.dcgan = os.path.abspath(o.dcgan)
    o.cats = sorted(glob.glob(f'{o.cats}/*.png'))
    o.photos = sorted(glob.glob(f'{o.classes}/*/*.jpg'))[::7]
    for part in ('data', 'said', 'runs'):
        os.makedirs(f'{o.out}/{part}', exist_ok=True)
    wrong, grids = 0, []
    with open(f'{o.out}/table.md', 'w', encoding='utf-8') as table:
        table.write('| folder | exit code | diversity | said |\n|---|---|---|---|\n')
        for name in o.only.split(','):
            fill, right = OF[name]
            to = f'{o.out}/data/{name}'
            if not os.path.isdir(to):
                os.makedirs(to)
                fill(o, to)
            code, lines, grid = run(o, name)
            table.write(row(o, name, code, lines, grid))
            table.flush()
            grids += [(name, grid)] if grid else []
            if code != right:
                print(f'{name}: exit code {code}, not {right}', file=sys.stderr)
                wrong += 1
    if grids:
        sheet(o, grids)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
