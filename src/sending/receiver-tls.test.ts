import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptRequest } from '../../test/support/attempt-request.ts';
import { type Certificate, makeCertificate } from '../../test/support/certificate.ts';
import { Receiver } from '../../test/support/receiver.ts';
import { systemClock } from '../base/clock.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import { attemptParts, sendAttempt } from './attempt.ts';
import {
  attemptFailure,
  type AttemptRequest,
  type AttemptResult,
  type ReceiverTls,
} from './attempt-result.ts';
import { GuardedAgent } from './guarded-agent.ts';

const authority = makeCertificate({ names: ['ca.test'], commonName: 'Our authority', isAuthority: true });
const server = makeCertificate({ names: ['localhost'], issuer: authority, commonName: 'localhost' });
const client = makeCertificate({ names: ['client.test'], issuer: authority, commonName: 'client.test' });

function tlsWith({ cert: certificate, key }: Certificate, ca = authority.cert): ReceiverTls {
  return { ca, client: { certificate, key } };
}

interface Sending {
  readonly agent: GuardedAgent;
  readonly receiver: Receiver;
  readonly send: (changes: Partial<AttemptRequest>) => Promise<AttemptResult>;
}

async function toMutual(body: (sending: Sending) => Promise<void>): Promise<void> {
  await using receiver = await Receiver.open({ tls: { ...server, ca: authority.cert } });
  const agent = new GuardedAgent({
    policy: { allowHttp: false, allowed: loopbackRanges },
    clock: systemClock,
  });
  const parts = attemptParts({ agent, clock: systemClock });
  const url = receiver.urlAt('localhost');
  try {
    await body({ agent, receiver, send: (changes) => sendAttempt(attemptRequest(url, changes), parts) });
  } finally {
    agent.stop();
  }
}

test('a handshake shows the certificate of the endpoint, as an attempt does', async () => {
  await toMutual(async ({ agent, receiver }) => {
    const url = receiver.urlAt('localhost');
    assert.equal(await agent.handshake(url, tlsWith(client)), true);
    assert.equal(await agent.handshake(url), false, 'the authority is not trusted');
    assert.equal(agent.poolCount, 0);
  });
});

test('connections with other certificates are never used again, however often these change', async () => {
  await toMutual(async ({ agent, receiver, send }) => {
    const others = [0, 1, 2].map((number) =>
      makeCertificate({ names: ['client.test'], issuer: authority, commonName: `client ${number}` }),
    );
    for (const certificate of [client, ...others, client])
      for (const endpointId of ['a', 'b'])
        assert.equal((await send({ endpointId, tls: tlsWith(certificate) })).kind, 'success');
    assert.equal(agent.poolCount, 2);
    const used = receiver.clientFingerprints;
    assert.deepEqual([used.length, new Set(used).size], [10, 4]);
    // The same ones use the connection that is open.
    assert.equal((await send({ endpointId: 'a', tls: tlsWith(client) })).timings.tlsMs, null);
  });
});

test('an access token is fetched without the certificates of the receiver', async () => {
  await toMutual(async ({ receiver, send }) => {
    const oauth2 = {
      tokenUrl: receiver.urlAt('localhost', '/token'),
      clientId: 'c',
      clientSecret: 's',
      updated: '',
    };
    const { kind, cause } = await send({ oauth2, tls: tlsWith(client) });
    assert.equal(kind, 'tls', cause);
    assert.match(cause, /^The token request failed: the certificate/);
  });
});

test('certificates that cannot be used fail the attempt, and nothing else', async () => {
  await toMutual(async ({ send }) => {
    const { kind, cause } = await send({ tls: { ca: '', client: { certificate: 'x', key: 'y' } } });
    assert.deepEqual([kind, cause], ['tls', 'The certificates of the endpoint cannot be used.']);
    assert.equal((await send({ tls: tlsWith(client) })).kind, 'success');
  });
});

test('a receiver that rejects the client certificate after the handshake is named', () => {
  const causeOf = (code: string) => attemptFailure(Object.assign(new Error('x'), { code }), false);
  assert.deepEqual(causeOf('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), {
    kind: 'tls',
    cause: 'The receiver requires a client certificate.',
  });
  for (const alert of [
    'TLSV1_ALERT_UNKNOWN_CA',
    'SSL/TLS_ALERT_BAD_CERTIFICATE',
    'SSL/TLS_ALERT_CERTIFICATE_EXPIRED',
  ])
    assert.equal(causeOf(`ERR_SSL_${alert}`).cause, 'The receiver rejected the client certificate.');
  assert.equal(
    causeOf('ERR_SSL_WRONG_VERSION_NUMBER').cause,
    'The receiver ended TLS (ERR_SSL_WRONG_VERSION_NUMBER).',
  );
});
