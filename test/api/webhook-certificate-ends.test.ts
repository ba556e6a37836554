// Both engines: an alert is stored under a condition, and is due where nobody uses the instance.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { AlertMails } from '../../src/deliveries/alert-mails.ts';
import { Janitor, rowByRow } from '../../src/dispatch/janitor.ts';
import type { WebhookInstanceLoan } from '../../src/endpoints/webhook-instance.ts';
import { alwaysSafe } from '../../src/events/log-horizon.ts';
import { Mailer } from '../../src/mail/mailer.ts';
import { loopbackRanges } from '../../src/network/address-guard.ts';
import { readDueTimes } from '../../src/start-due-work.ts';
import { makeCertificate } from '../support/certificate.ts';
import { logInto } from '../support/log-into.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { SmtpSink } from '../support/smtp-sink.ts';
import { type Json, listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const dayMs = 86_400_000;
const contact = 'on-call@example.com';

interface Stage {
  readonly service: WebhookService;
  readonly clock: MovableClock;
  readonly sink: SmtpSink;
  readonly log: readonly string[];
  /** Does what two nodes do once an hour. */
  readonly tidy: () => Promise<void>;
}

async function start(t: TestContext): Promise<Stage> {
  const clock = new MovableClock(Math.floor(Date.now() / 1_000) * 1_000);
  const service = await startWebhookService(t, { parts: { clock } });
  const sink = await SmtpSink.start(t);
  await sink.serve(service);
  const log: string[] = [];
  const logger = logInto(log);
  const policy = { allowHttp: true, allowed: loopbackRanges };
  const mailer = new Mailer({ policy, clock: systemClock, logger, isDevelopment: false });
  t.after(() => mailer.stop(0));
  const { directory, instances } = service.app.data;
  const borrow = async (id: string): Promise<WebhookInstanceLoan | undefined> => {
    const entry = directory.find(id);
    return entry === undefined ? undefined : instances.borrow(entry);
  };
  const mails = new AlertMails({ mailer, borrow, logger });
  const node = (): Janitor =>
    new Janitor({
      instances: () => Array.from(directory.all(), ({ id }) => id),
      borrow,
      owns: () => true,
      retention: rowByRow,
      safeEnd: alwaysSafe,
      wake: (id) => service.app.data.wakeUp.notify(id),
      mails,
      days: 0,
      clock,
      logger,
    });
  const tidy = async (): Promise<void> => void (await Promise.all([node().tidy(), node().tidy()]));
  return { service, clock, sink, log, tidy };
}

function lasting({ clock }: Stage, days: number): Json {
  const notAfter = new Date(clock.now() + days * dayMs);
  const { cert: certificate, key } = makeCertificate({ names: ['client.test'], notAfter });
  return { clientCertificate: { certificate, key } };
}

function endOf({ expires }: Json): number {
  return Date.parse(String(expires).replace(' ', 'T'));
}

async function alertsOf({ service }: Stage): Promise<readonly Json[]> {
  const { items } = await service.call('GET', '/api/webhooks/events?perPage=200&sort=created');
  return listOf(items).filter(({ kind }) => kind === 'endpoint.certificate_expiring');
}

test('the end of a client certificate is told 30, 7 and 1 days before and once it has come, each once', async (t) => {
  const stage = await start(t);
  const { service, clock, sink, log, tidy } = stage;
  const endpoint = await service.addEndpoint({
    url: 'https://shop.example.com/hook?key=hidden',
    contact,
    ...lasting(stage, 40),
  });
  const { id, clientCertificate, warnings } = endpoint;
  const path = `/api/webhooks/endpoints/${id}`;
  assert.deepEqual(warnings, []);
  await service.addEndpoint({ events: ['endpoint.certificate_expiring'] });
  await tidy();
  for (const [left, count] of [
    [29.5, 1],
    [8, 1],
    [6.5, 2],
    [0.5, 3],
    [-0.5, 4],
    [-9, 4],
  ] as const) {
    const end = endOf(clientCertificate);
    clock.move(end - left * dayMs - clock.now());
    await service.signIn();
    for (const _ of [1, 2]) await tidy();
    assert.equal((await alertsOf(stage)).length, count, `${left} days before`);
  }
  const told = await service.receiver.waitForRequests(4);
  const { event, data } = JSON.parse(told[0]?.body.toString() ?? '');
  const { fingerprint, expires } = clientCertificate;
  assert.deepEqual(
    [event, data],
    ['endpoint.certificate_expiring', { id, url: endpoint.url, fingerprint, expires }],
  );
  const mail = await sink.mail(3);
  assert.equal(sink.mails.length, 4);
  assert.deepEqual(
    [mail.to, mail.parsed.subject?.endsWith(': a client certificate needs to be renewed')],
    [[contact], true],
  );
  assert.match((await sink.mail(0)).parsed.html ?? '', new RegExp(`It expires on ${expires}`));
  assert.match(mail.parsed.html ?? '', new RegExp(`It expired on ${expires}`));
  assert.doesNotMatch(mail.raw, /hidden/);
  const line = service.log.find(
    ({ message }) => message === 'The client certificate of an endpoint expires.',
  );
  assert.deepEqual([line?.members['endpoint'], line?.members['host']], [id, 'shop.example.com']);
  assert.deepEqual(log, [], 'nothing failed');
  assert.equal((await service.call('GET', `${path}/stats`)).certificateExpires, expires);
  const { warnings: shown } = await service.call('PATCH', path, { body: {} });
  assert.deepEqual(shown, [`The client certificate expires on ${expires}.`]);
  const drafted = await service.call('POST', '/api/webhooks/endpoints/check', { body: { id } });
  assert.deepEqual(drafted.warnings, shown);

  await service.call('PATCH', path, { body: lasting(stage, 20) });
  for (const _ of [1, 2]) await tidy();
  assert.equal((await alertsOf(stage)).length, 5, 'another certificate has its own alerts');
  await service.call('PATCH', path, { body: { clientCertificate: null } });
  await tidy();
  assert.equal((await alertsOf(stage)).length, 5);
  assert.equal((await service.call('GET', `${path}/stats`)).certificateExpires, '');
});

test('an instance that nobody uses is visited when an alert about a certificate is due', async (t) => {
  const stage = await start(t);
  const { service, clock, tidy } = stage;
  const due = () =>
    service.withInstance('default', async (instance) => (await readDueTimes(instance, 0)).upkeep);
  assert.equal(await due(), undefined);
  const { clientCertificate } = await service.addEndpoint({
    url: 'https://shop.example.com/',
    ...lasting(stage, 40),
  });
  const end = endOf(clientCertificate);
  assert.equal(await due(), end - 30 * dayMs);
  clock.move(11 * dayMs);
  assert.equal(await due(), clock.now());
  await tidy();
  assert.equal(await due(), end - 7 * dayMs);
});
