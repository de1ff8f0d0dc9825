"""What torture did, as tables for docs/results."""
import collections
import subprocess

import place

PARTS = ('calls', 'limits', 'power', 'kills')


def row(*cells):
    return '| ' + ' | '.join(str(c) for c in cells) + ' |'


def head(*cells):
    return [row(*cells), '|' + ' --- |' * len(cells)]


def total(result):
    return {'calls': sum(result['calls'][1].values()) if 'calls' in result else 0,
            'limits': sum(result.get('limits', {}).values()), 'power': result.get('power', 0),
            'kills': result['kills'][0] if 'kills' in result else 0}


def passed(result):
    return sum(total(result).values())


def of_calls(ready, runs, wanted):
    kinds = [k for k in ready[0][1] if k not in ('file', 'change')] if ready else []
    out = ['## Calls', '', 'Calls of each kind that a command makes without faults:', '']
    out += head('command', *kinds)
    out += [row(name, *(calls[k] or '' for k in kinds)) for name, calls in ready]
    hows = ('fail', 'short', 'interrupt', 'signal', 'kill')
    counted = collections.Counter()
    for (name, how, _), n in runs.items():
        counted[name, how] += n
    out += ['', 'Runs with a failing call (fail: only the k-th, or all from the k-th on):', '']
    if sum(runs.values()) < wanted:
        out[-2] = f'There was time for {sum(runs.values())} of {wanted} runs, chosen at random. ' + out[-2]
    out += head('command', *hows)
    out += [row(name, *(counted[name, how] or '' for how in hows)) for name, _ in ready]
    return out + ['']


def of_kills(number, phases):
    out = ['## Kills', '', f'{number} kills.', ''] + head('when', 'GAN', 'classifier')
    for when in sorted({w for (_, w), n in phases.items() if n}):
        out.append(row(when, phases['GAN', when], phases['classifier', when]))
    return out + ['']


def tables(o, result, findings):
    version = subprocess.run([place.PROGRAM, '--version'], capture_output=True, text=True).stdout.split('\n')[0]
    every = f', every {o.every}th call' if o.every > 1 else ''
    out = ['# Torture', '', f'By `tests/torture/torture.py {" ".join(o.parts)}`: {version}'
           f'{", sanitized" if o.sanitized else ""}{every}, seed {o.seed}.', '']
    sums = total(result)
    out += head('part', 'runs', 'deviations')
    out += [row(part, sums[part], sum(1 for f in findings.found if part_of(f) == part)) for part in o.parts]
    meant = sum(findings.used.values())
    out += ['', f'{meant} more are intended, for {len(findings.used)} reasons '
            '([meant.txt](../../tests/torture/meant.txt)).', '']
    if 'calls' in result:
        out += of_calls(*result['calls'])
    if 'limits' in result:
        out += ['## Limits', ''] + head('what', 'runs') + [row(k, n) for k, n in result['limits'].items()] + ['']
    if 'power' in result:
        out += ['## Power failures', '', f'{result["power"]} different states of the disk; the run resumed from '
                'each of them.', '']
    if 'kills' in result:
        out += of_kills(*result['kills'])
    for what, fault, words in findings.found:
        out.append(f'* {what}, {fault}: {words}')
    return '\n'.join(out).rstrip('\n') + '\n'


def part_of(finding):
    return {'limit': 'limits', 'power': 'power', 'kill': 'kills'}.get(finding[1], 'calls')
