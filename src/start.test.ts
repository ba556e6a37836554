import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { dataFlags, serverFlags } from './config/config-flags.ts';
import { type RunningChancery, start, type StartOptions } from './start.ts';

/** Each option with any value: the compiler refuses this when one is missing. */
const everyOption: Required<StartOptions> = {
  data: '',
  host: '',
  port: 0,
  dev: true,
  postgres: '',
  postgresFile: '',
  allowUnsafePostgres: true,
  files: '',
  key: '',
  keyFile: '',
  keepUpgradeCopies: 1,
  allowNet: [],
  allowPorts: [],
  trustedProxies: [],
  strictHosts: true,
  tlsCert: '',
  tlsKey: '',
  corsOrigins: [],
  stopTimeout: 1,
  hostThreads: 0,
  queryTimeout: 1,
  webhookSlots: 16,
  webhookBodyMax: 1,
  webhookDays: 1,
  webhookBytes: '10%',
  webhookProxy: '',
  webhookCa: '',
  realtimeConnections: 1,
  realtimeConnectionsPerAddress: 1,
  answerMemory: 64,
  backups: '',
  backupTo: '',
  backupCron: '',
  backupKeep: 1,
  backupS3Endpoint: '',
  backupS3Region: '',
  backupS3AccessKey: '',
  backupS3SecretFile: '',
  backupS3PathStyle: true,
  upgradeWait: 300,
  checkHours: 24,
  auditDays: 1,
  deletedDays: 1,
  diskReserve: '5%',
  metricsPort: 0,
  metricsHost: '',
  metricsNames: [],
  accessLog: true,
  logLevel: 'error',
  superuser: { email: '', password: '' },
};

test('a program that embeds the service may decide what the command line may', () => {
  const { key: _, superuser: __, ...options } = everyOption;
  const flags = [...dataFlags, ...serverFlags].map(({ name }) =>
    name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
  );
  assert.deepEqual(Object.keys(options).toSorted(), flags.toSorted());
});

test('an embedded service answers until it is stopped, and then leaves the directory to the next', async (t) => {
  const data = join(temporaryFolder(t), 'data');
  for (const _ of [1, 2]) {
    const { url, stop } = await startQuietly({ data });
    assert.equal((await fetch(`${url}/api/health`)).status, 200);
    await assert.rejects(startQuietly({ data }), /Another server or a move is running on the data directory/);
    await stop();
    await assert.rejects(fetch(`${url}/api/health`));
  }
});

test('an embedded service has the superuser it was started with, whose later password stays', async (t) => {
  const data = temporaryFolder(t);
  const email = 'root@example.com';
  await using first = await startQuietly({ data, superuser: { email, password: 'correct horse' } });
  assert.equal(await signIn(first, email, 'correct horse'), 200);
  await first.stop();
  await using second = await startQuietly({ data, superuser: { email, password: 'battery staple' } });
  assert.equal(await signIn(second, email, 'battery staple'), 400);
  assert.equal(await signIn(second, email, 'correct horse'), 200);
});

test('an embedded service that cannot have its superuser is not left running', async (t) => {
  const data = temporaryFolder(t);
  const superuser = { email: 'root@example.com', password: 'short' };
  await assert.rejects(startQuietly({ data, superuser }), /at least 8 characters/);
  await (await startQuietly({ data })).stop();
});

test('an embedded service seals with the key that it is given, and reads no variable of the process', async (t) => {
  const data = temporaryFolder(t);
  process.env['CHANCERY_HOST'] = '192.0.2.1';
  t.after(() => delete process.env['CHANCERY_HOST']);
  const key = '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94';
  await using running = await startQuietly({
    data,
    key,
    superuser: { email: 'a@example.com', password: 'correct horse' },
  });
  assert.match(running.url, /^http:\/\/127\.0\.0\.1:/);
  await running.stop();
  await assert.rejects(startQuietly({ data }), /master\.key is missing/);
});

test('an option that does not exist or has a wrong value is refused in one line', async (t) => {
  const data = temporaryFolder(t);
  const misspelled = { data, prot: 1 };
  await assert.rejects(startQuietly(misspelled), /^ConfigError: There is no option prot\.$/);
  await assert.rejects(
    startQuietly({ data, queryTimeout: 0 }),
    /^ConfigError: --query-timeout takes seconds/,
  );
  await assert.rejects(startQuietly({ data, allowNet: ['10.0.0.0/99'] }), /^ConfigError: --allow-net/);
});

function startQuietly(options: StartOptions): Promise<RunningChancery> {
  return start({ port: 0, logLevel: 'error', ...options });
}

async function signIn({ url }: RunningChancery, identity: string, password: string): Promise<number> {
  const { status } = await fetch(`${url}/api/collections/_superusers/auth-with-password`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ identity, password }),
  });
  return status;
}
