import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connect, type ConnectionOptions, type SecureVersion } from 'node:tls';
import { startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { atEnd } from '../support/at-end.ts';
import { makeCertificate, type Certificate } from '../support/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { RawConnection, rawRequest } from '../support/raw-http.ts';
import type { LogLine } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Stage {
  readonly port: number;
  readonly folder: string;
  readonly first: Certificate;
  readonly log: readonly LogLine[];
  readonly write: (certificate: Partial<Certificate>) => void;
}

async function serveTls(t: TestContext): Promise<Stage> {
  const folder = temporaryFolder(t);
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  const write = ({ cert, key }: Partial<Certificate>): void => {
    if (cert !== undefined) writeFileSync(files.cert, cert);
    if (key !== undefined) writeFileSync(files.key, key);
  };
  const first = makeCertificate({ names: ['one.example'] });
  write(first);
  const log: LogLine[] = [];
  const at =
    (level: string) =>
    (message: string, members = {}) =>
      void log.push({ level, message, members });
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  const config = readConfig(
    { data: join(folder, 'data'), port: '0', 'tls-cert': files.cert, 'tls-key': files.key },
    {},
  );
  const app = await startApp(config, { logger });
  atEnd(t, () => app.stop());
  assert.match(app.url, /^https:/);
  return { port: Number(new URL(app.url).port), folder, first, log, write };
}

/** Asks over a new connection that trusts this certificate only. */
function ask(port: number, trusted: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path: '/api/health',
      servername: 'one.example',
      ca: trusted,
      headers: { host: 'one.example' },
      agent: new Agent({ maxCachedSessions: 0 }),
    };
    get(options, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    }).on('error', reject);
  });
}

/** The protocol that was agreed on, or the code of the failure. */
function shake(port: number, options: ConnectionOptions): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options });
    socket.on('secureConnect', () => {
      resolve(socket.getProtocol());
      socket.destroy();
    });
    socket.on('error', (error: Error & { readonly code?: string }) => resolve(error.code ?? error.message));
  });
}

test('with a certificate and its key the service speaks TLS 1.2 and 1.3 and nothing older', async (t) => {
  const { port, first } = await serveTls(t);
  assert.equal(await ask(port, first.cert), 200);
  // Security level 0 lets the client offer what it would refuse by itself.
  const only = (version: SecureVersion): ConnectionOptions => ({
    minVersion: version,
    maxVersion: version,
    ciphers: 'DEFAULT:@SECLEVEL=0',
  });
  assert.equal(await shake(port, only('TLSv1.3')), 'TLSv1.3');
  assert.equal(await shake(port, only('TLSv1.2')), 'TLSv1.2');
  for (const old of ['TLSv1.1', 'TLSv1'] as const)
    assert.match(String(await shake(port, only(old))), /PROTOCOL_VERSION|HANDSHAKE|UNSUPPORTED|RESET/);
});

test('plain HTTP and nonsense on the TLS port end their connection and disturb nobody', async (t) => {
  const { port, first, log } = await serveTls(t);
  for (const bytes of [rawRequest('GET /api/health'), '\0'.repeat(500), 'x']) {
    const connection = RawConnection.open(t, `https://127.0.0.1:${port}`);
    connection.send(bytes);
    if (bytes === 'x') connection.socket.end();
    await connection.waitForEnd();
    assert.deepEqual(connection.answers, []);
  }
  assert.equal(await ask(port, first.cert), 200);
  assert.deepEqual(
    log.filter(({ level }) => level === 'error'),
    [],
  );
});

test('renewed files are served without a restart; files that do not fit leave the old ones in force', async (t) => {
  const { port, first, log, write } = await serveTls(t);
  const second = makeCertificate({ names: ['one.example'] });
  write({ cert: second.cert });
  await eventually('the log tells that certificate and key do not fit', () =>
    log.some(({ level, message }) => level === 'error' && message.includes('certificate')),
  );
  assert.equal(await ask(port, first.cert), 200);
  write({ key: second.key });
  await eventually('the new certificate is served', async () => (await ask(port, second.cert)) === 200);
  await assert.rejects(ask(port, first.cert));
  assert.match(
    String(
      await shake(port, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' }),
    ),
    /PROTOCOL_VERSION|HANDSHAKE|UNSUPPORTED|RESET/,
  );
});
