import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { MovableClock } from '../support/movable-clock.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { listOf, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

const dayMs = 86_400_000;
const clockToleranceMs = 5 * 60_000;

test('while a rotation overlaps both secrets sign, and afterwards the new one alone', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock } });
  const { id, secret } = await service.addEndpoint();
  const before = await nextRequest(service);
  assert.deepEqual(signersOf(before, [secret]), { standard: [true], own: [true, undefined] });

  const answer = await rotate(service, id, {});
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  const { secret: next, previousSecretUntil, warnings } = answer.json;
  assert.match(next, /^whsec_/);
  assert.deepEqual(warnings, []);
  assert.equal(Math.round((Date.parse(previousSecretUntil) - clock.now()) / 3_600_000), 24);
  const path = `/api/webhooks/endpoints/${id}`;
  assert.equal((await service.call('GET', path)).previousSecretUntil, previousSecretUntil);
  assert.deepEqual(await service.call('GET', `${path}/secret`), { secret: next });

  const during = await nextRequest(service);
  assert.deepEqual(signersOf(during, [next, secret]), { standard: [true, true], own: [true, true] });
  const feed = await service.call('GET', `/api/webhooks/feed?signed=${id}&perPage=1&wait=10`);
  assert.equal(String(listOf(feed.items)[0].headers['webhook-signature']).split(' ').length, 2);

  clock.move(dayMs + clockToleranceMs);
  await service.signIn();
  const after = await nextRequest(service);
  assert.deepEqual(signersOf(after, [next, secret]), { standard: [true, false], own: [true, undefined] });
});

test('a second rotation ends the overlap of the first, and one without an overlap has none', async (t) => {
  const service = await startWebhookService(t);
  const { id, secret: first } = await service.addEndpoint();
  const { secret: second } = (await rotate(service, id, { overlapSeconds: 600 })).json;
  const { secret: third } = (await rotate(service, id, { overlapSeconds: 604_800 })).json;
  const request = await nextRequest(service);
  assert.deepEqual(signersOf(request, [third, second, first]).standard, [true, true, false]);
  const own = 'a secret of their own';
  const last = (await rotate(service, id, { secret: own, overlapSeconds: 0 })).json;
  assert.deepEqual([last.secret, last.previousSecretUntil, last.warnings.length], [own, '', 1]);
  const alone = await nextRequest(service);
  assert.equal(alone.headers['x-service-signature-previous'], undefined);
  assert.equal(alone.headers['x-service-signature'], hexOf(own, alone.body));
});

test('both secrets outlive a start and a change of other options, and the audit log tells of the rotation', async (t) => {
  const service = await startWebhookService(t);
  const { id, secret } = await service.addEndpoint();
  const { secret: next, previousSecretUntil } = (await rotate(service, id, {})).json;
  const path = `/api/webhooks/endpoints/${id}`;
  const changed = await service.call('PATCH', path, { body: { description: 'told twice' } });
  assert.equal(changed.previousSecretUntil, previousSecretUntil);
  const shown = await service.request(path, { token: true });
  for (const one of [secret, next]) assert.ok(!shown.text.includes(one));
  await service.call('POST', `${path}/pause`);
  await service.call('POST', '/api/collections/posts/records', { body: { title: 'waits' }, status: 201 });
  await service.stop();

  const again = await startWebhookService(t, { data: service.data });
  await again.call('PATCH', path, { body: { url: again.receiver.url } });
  await again.call('POST', `${path}/resume`);
  const [request] = await again.receiver.waitForRequests(1);
  assert.ok(request);
  assert.deepEqual(signersOf(request, [next, secret]).standard, [true, true]);
  const { items } = await again.call(
    'GET',
    `/api/audit?filter=${encodeURIComponent("action='endpoint.rotate'")}`,
  );
  assert.deepEqual(
    listOf(items).map(({ target }) => target),
    [id],
  );
});

test('a rotation that makes no sense is refused by name, and changes nothing', async (t) => {
  const service = await startWebhookService(t);
  const { id, secret } = await service.addEndpoint();
  const path = `/api/webhooks/endpoints/${id}/secret`;
  for (const [body, member, message] of [
    [{ overlapSeconds: -1 }, 'overlapSeconds', /between 0 and 604800/],
    [{ overlapSeconds: 604_801 }, 'overlapSeconds', /between 0 and 604800/],
    [{ overlapSeconds: '60' }, 'overlapSeconds', /between 0 and 604800/],
    [{ overlapSeconds: null }, 'overlapSeconds', /between 0 and 604800/],
    [{ secret: 'short' }, 'secret', /16 to 256/],
    [{ secret: 7 }, 'secret', /must be text/],
    [{ secret }, 'secret', /another than the current one/],
    [{ overlap: 60 }, 'overlap', /./],
  ] as const) {
    const answer = await service.call('POST', `${path}/rotate`, { body, status: 400 });
    assert.match(answer.data[member].message, message, JSON.stringify(body));
  }
  await service.call('POST', '/api/webhooks/endpoints/nothing/secret/rotate', { status: 404 });
  assert.deepEqual(await service.call('GET', path), { secret });
});

function rotate(service: WebhookService, id: string, body: object): ReturnType<WebhookService['request']> {
  const path = `/api/webhooks/endpoints/${id}/secret/rotate`;
  return service.request(path, { method: 'POST', token: true, body });
}

/** Makes a post, and returns the request that tells of it. */
async function nextRequest(service: WebhookService): Promise<ReceivedRequest> {
  const { receiver } = service;
  const count = receiver.requests.length + 1;
  await service.addPost();
  const request = (await receiver.waitForRequests(count)).at(-1);
  assert.ok(request);
  return request;
}

/** Tells for each secret whether it has signed, and whether the two headers of ours are by the first two. */
function signersOf({ headers, body }: ReceivedRequest, secrets: readonly string[]) {
  const standard = secrets.map((secret) => isSigned(secret, headers, body));
  const [current = '', previous = ''] = secrets;
  const own = [
    headers['x-service-signature'] === hexOf(current, body),
    headers['x-service-signature-previous'] === undefined
      ? undefined
      : headers['x-service-signature-previous'] === hexOf(previous, body),
  ];
  return { standard, own };
}

function hexOf(secret: string, body: Buffer): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/** With the id and the time of the headers, whatever time it is here: clocks are moved. */
function isSigned(secret: string, headers: ReceivedRequest['headers'], body: Buffer): boolean {
  const sent = { id: String(headers['webhook-id']), seconds: Number(headers['webhook-timestamp']) };
  const expected = new Webhook(secret).sign(sent.id, new Date(sent.seconds * 1_000), body.toString());
  return String(headers['webhook-signature']).split(' ').includes(expected);
}
