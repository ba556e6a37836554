import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import { makeCertificate } from '../../test/support/certificate.ts';
import { SmtpSink } from '../../test/support/smtp-sink.ts';
import { systemClock } from '../base/clock.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import { HostResolver } from '../network/host-resolver.ts';
import { defaultSettings } from '../settings/settings.ts';
import type { MailResult } from './render-mail.ts';
import { sendMail } from './send-mail.ts';

const mail = {
  sender: { name: 'Shop', address: 'shop@example.com' },
  to: 'ann@example.com',
  subject: 'Hello',
  html: '<p>Hello</p>',
};

const { key, cert } = makeCertificate({ names: ['localhost'] });
const withTls = { key, cert, disabledCommands: [] };
const resolver = new HostResolver();
after(() => resolver.stop());

interface Sending {
  readonly smtp?: object;
  readonly isPlainAllowed?: boolean;
  readonly trusted?: string;
  readonly signal?: AbortSignal;
}

function send(port: number, sending: Sending = {}): Promise<MailResult> {
  const { smtp, isPlainAllowed = false, trusted, signal = new AbortController().signal } = sending;
  const server = {
    smtp: { ...defaultSettings.smtp, host: 'localhost', port, ...smtp },
    name: 'shop.example',
  };
  const guard = {
    policy: { allowHttp: false, allowed: loopbackRanges },
    resolver,
    clock: systemClock,
    trustedCertificates: trusted,
    isPlainAllowed: () => isPlainAllowed,
  };
  return sendMail(mail, server, { guard, signal });
}

function reasonOf(result: MailResult): string {
  return result.kind === 'failed' ? result.reason : result.kind;
}

test('with `tls` the conversation is encrypted from its first byte, by a certificate that is trusted', async (t) => {
  const sink = await SmtpSink.start(t, { ...withTls, secure: true });
  const smtp = { tls: true };
  assert.deepEqual(await send(sink.port, { smtp, trusted: cert }), { kind: 'sent' });
  assert.equal(sink.mails[0]?.isSecure, true);
  // Not even where it might go without.
  const result = await send(sink.port, { smtp, isPlainAllowed: true });
  assert.equal(reasonOf(result), 'The certificate is self-signed.');
  assert.equal(sink.mails.length, 1);
});

test('without `tls` the connection is encrypted before any command, or ends where encryption is required', async (t) => {
  const sink = await SmtpSink.start(t, withTls);
  assert.deepEqual(await send(sink.port, { trusted: cert }), { kind: 'sent' });
  assert.match(
    reasonOf(await send(sink.port)),
    /^The connection to the mail server failed\. \(self-signed cert/,
  );
  assert.deepEqual(await send(sink.port, { isPlainAllowed: true }), { kind: 'sent' });
  assert.deepEqual(
    sink.mails.map(({ isSecure }) => isSecure),
    [true, true],
  );
});

test('neither a password nor a mail is sent in the clear unless the settings allow it', async (t) => {
  const users: unknown[] = [];
  const sink = await SmtpSink.start(t, {
    allowInsecureAuth: true,
    onAuth: ({ username }, _session, callback) => {
      users.push(username);
      callback(null, { user: username });
    },
  });
  const smtp = { username: 'shop', password: 'canary' };
  assert.match(reasonOf(await send(sink.port, { smtp })), /offers no TLS that can be trusted/);
  assert.deepEqual([users, sink.mails], [[], []]);
  assert.deepEqual(await send(sink.port, { smtp, isPlainAllowed: true }), { kind: 'sent' });
  assert.deepEqual([users, sink.mails[0]?.isSecure], [['shop'], false]);
});

test('a server that says nothing, too much or nonsense is a failure, and is not waited for', async (t) => {
  const silent = await serve(t, () => undefined);
  const stop = new AbortController();
  const waiting = send(silent.port, { isPlainAllowed: true, signal: stop.signal });
  await silent.connected;
  stop.abort();
  assert.match(reasonOf(await waiting), /did not answer in time|was over before/);
  const endless = await serve(t, (socket) => {
    const line = Buffer.alloc(256 * 1_024, 'a');
    const more = (): void => {
      while (socket.writable && socket.write(line));
    };
    socket.on('drain', more);
    more();
  });
  assert.match(reasonOf(await send(endless.port, { isPlainAllowed: true })), /ended the conversation/);
  const nonsense = await serve(t, (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  assert.match(reasonOf(await send(nonsense.port, { isPlainAllowed: true })), /ended the conversation/);
});

interface RudeServer {
  readonly port: number;
  readonly connected: Promise<unknown>;
}

async function serve(t: TestContext, onConnection: (socket: Socket) => void): Promise<RudeServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  // It listens on a port.
  const { port } = server.address() as AddressInfo;
  return { port, connected: once(server, 'connection') };
}
