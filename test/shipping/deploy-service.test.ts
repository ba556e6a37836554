import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isInCidr, parseCidr, readIpAddress } from '../../src/base/ip-address.ts';
import { serverFlags } from '../../src/config/config-flags.ts';
import { isAddressAllowed } from '../../src/network/address-guard.ts';
import { root } from '../../tools/build/root.ts';
import { requireVariables } from '../support/deploy-variables.ts';
import { temporaryTree } from '../support/temporary-tree.ts';

const text = readFileSync(join(root, 'deploy/chancery.service'), 'utf8');
/** As systemd counts it, of 10: below 2 is what it calls OK. */
const exposureMax = 2;

/** The values of a setting, in the order in which they stand. */
function valuesOf(name: string): readonly string[] {
  return [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].flatMap(([, value = '']) => value.split(' '));
}

test('the unit waits at a stop for as long as the service takes, and gives it the variables that there are', () => {
  const fallback = serverFlags.find(({ name }) => name === 'stop-timeout')?.fallback;
  // Ten seconds for requests, which end before or beside the webhooks, and some to close the files.
  assert.ok(Number(valuesOf('TimeoutStopSec')[0]) >= Number(fallback) + 10 + 5);
  requireVariables('deploy/chancery.service', text);
  assert.deepEqual(
    valuesOf('Environment').filter((value) => value.startsWith('CHANCERY_')),
    [`CHANCERY_DATA=/var/lib/${valuesOf('StateDirectory').join(' ')}`],
  );
});

test('the unit lets nothing be written but its folder, and gives no rights', () => {
  const expected = {
    DynamicUser: 'yes',
    ProtectSystem: 'strict',
    ProtectHome: 'yes',
    NoNewPrivileges: 'yes',
    PrivateTmp: 'yes',
    CapabilityBoundingSet: '',
    AmbientCapabilities: '',
    StateDirectoryMode: '0700',
    UMask: '0077',
  };
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(valuesOf(name), [value], name);
  assert.ok(valuesOf('SystemCallFilter').includes('@system-service'));
  // V8 could not run with it.
  assert.deepEqual(valuesOf('MemoryDenyWriteExecute'), []);
});

test('the second wall refuses what the service refuses, and nothing that is public', () => {
  const refused = valuesOf('IPAddressDeny').map(parseCidr);
  const isRefused = (address: string): boolean => {
    const bytes = readIpAddress(address);
    assert.ok(bytes !== undefined, address);
    return refused.some((cidr) => isInCidr(bytes, cidr));
  };
  const policy = { allowHttp: false, allowed: [] };
  const inside = [
    '10.0.0.1',
    '10.255.255.255',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.255.255',
    '169.254.169.254',
  ];
  const special = [
    '0.0.0.1',
    '100.64.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    'fd00::1',
    'fe80::1',
    'ff02::1',
  ];
  const outside = ['1.1.1.1', '9.255.255.255', '172.32.0.1', '192.169.0.1', '2606:4700::1'];
  for (const address of [...inside, ...special, ...outside])
    assert.equal(isRefused(address), !isAddressAllowed(address, policy), address);
  assert.deepEqual(valuesOf('IPAddressAllow'), ['localhost']);
});

test('systemd understands the unit', (t) => {
  const { status, stdout, stderr } = analyze(t, ['verify'], text);
  if (status !== undefined) assert.deepEqual([status, stdout, stderr], [0, '', '']);
});

test('systemd counts the unit as little exposed, and would not if it ran as root with everything', (t) => {
  const hardened = exposureOf(t, text);
  if (hardened === undefined) return;
  t.diagnostic(`exposure ${hardened}`);
  assert.ok(hardened <= exposureMax, String(hardened));
  const open = exposureOf(
    t,
    text.replaceAll(/^(Protect|Private|Restrict|DynamicUser|Capability|System|IP).*$/gm, ''),
  );
  assert.ok(open !== undefined && open > exposureMax, String(open));
});

function exposureOf(t: TestContext, unit: string): number | undefined {
  const { stdout } = analyze(t, ['security', '--offline=true', '--no-pager'], unit);
  return stdout === undefined
    ? undefined
    : Number(/exposure level for chancery.service: ([\d.]+)/.exec(stdout)?.[1]);
}

interface Analysis {
  /** Undefined where there is no systemd-analyze. */
  readonly status?: number | null;
  readonly stdout?: string;
  readonly stderr?: string;
}

function analyze(t: TestContext, args: readonly string[], unit: string): Analysis {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
    t.skip('not run: systemd-analyze is not installed here');
    return {};
  }
  // The program need not be installed where the unit is checked, but it must be one.
  const tree = { 'chancery.service': unit.replace('/usr/local/bin/chancery', process.execPath) };
  return spawnSync('systemd-analyze', [...args, join(temporaryTree(t, tree), 'chancery.service')], {
    encoding: 'utf8',
  });
}
