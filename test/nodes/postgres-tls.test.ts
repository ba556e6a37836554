import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { makeCertificate } from '../support/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { ask, openTestPostgres, startTestPostgres, type TestPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { assertRefused, startOnPostgres } from './start-on-postgres.ts';

const certificate = makeCertificate({ names: ['localhost'] });

/** The role `app` must come over TLS. */
const access = `
local all all trust
host all postgres all trust
hostssl all app all scram-sha-256
host all app all reject
`;

describe('PostgreSQL over TLS', () => {
  let server: TestPostgres;
  before(async () => {
    server = await startTestPostgres({
      settings: ['ssl=on', 'listen_addresses=localhost'],
      files: { 'server.crt': certificate.cert, 'server.key': certificate.key, 'pg_hba.conf': access },
    });
    await ask(server.url, `CREATE ROLE app LOGIN PASSWORD 'sesame'`);
    await ask(server.url, 'CREATE DATABASE of_app OWNER app');
  });
  after(() => server.stop());

  const at = (host: string, parameters: string): string =>
    `postgres://app:sesame@${host}:${new URL(server.url).port}/of_app?${parameters}`;

  for (const mode of ['require', 'verify-full']) {
    test(`is used with sslmode=${mode} by who trusts its certificate, for every connection`, async (t) => {
      const main = startOnPostgres(t, at('localhost', `sslmode=${mode}&sslrootcert=${rootOf(t)}`));
      const { url } = await main.waitForLog(/listens on/);
      assert.equal((await fetch(`${String(url)}/api/health/ready`)).status, 200);
      const sessions = `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'app'`;
      const encrypted = await eventually('requests, leases and hints have a connection each', async () => {
        const rows = await ask(server.url, sessions);
        return rows.length >= 3 && rows.map(({ ssl }) => ssl);
      });
      assert.deepEqual(new Set(encrypted), new Set([true]));
      main.kill('SIGTERM');
      const { code, stderr } = await main.ended;
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    });
  }

  test('is refused where it is wanted and not offered, or demanded and not used', async (t) => {
    const { url } = await openTestPostgres();
    await assertRefused(t, `${url}?sslmode=require`, /The server does not support SSL connections/);
    await assertRefused(t, at('localhost', ''), /rejects connection .* no encryption/);
  });

  test('is refused when its certificate is of nobody we trust, or of another host', async (t) => {
    await assertRefused(t, at('localhost', 'sslmode=require'), /self-signed certificate/);
    const parameters = `sslmode=require&sslrootcert=${rootOf(t)}`;
    await assertRefused(t, at('127.0.0.1', parameters), /does not match certificate/);
  });

  test('is refused when the file with the certificate to trust is not there', async (t) => {
    const parameters = `sslmode=verify-full&sslrootcert=${rootOf(t)}.not`;
    await assertRefused(t, at('localhost', parameters), /no such file .*root\.crt\.not/);
  });
});

/** A file with what our server has, which is its own root. */
function rootOf(t: TestContext): string {
  const path = join(temporaryFolder(t), 'root.crt');
  writeFileSync(path, certificate.cert);
  return path;
}
