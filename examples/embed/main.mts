/**
 * A program that embeds Chancery. It stores orders as records, and gets every change as a webhook:
 *
 *   npm install chancery
 *   node main.mts
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { start } from 'chancery';

const superuser = { email: 'orders@example.com', password: 'a long password' };

// `dev` allows webhooks to this machine.
const chancery = await start({ data: 'orders', port: 0, dev: true, logLevel: 'warn', superuser });
console.log('Chancery runs inside this program.');

let secret = '';
const receiver = createServer((request, response) => {
  void text(request).then((body) => {
    const isGenuine = verify(request.headers, body);
    response.writeHead(isGenuine ? 204 : 401).end();
    console.log(isGenuine ? `Received ${body}` : 'Rejected a webhook with a wrong signature.');
    receiver.emit('webhook');
  });
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');
// A server on a port has such an address.
const { port } = receiver.address() as AddressInfo;

const identity = { identity: superuser.email, password: superuser.password };
const signedIn = await send('/api/collections/_superusers/auth-with-password', identity);
const authorization = String(signedIn['token']);

await send('/api/collections', { name: 'orders', fields: [{ name: 'item', type: 'text' }] });
const endpoint = { url: `http://127.0.0.1:${port}/`, collections: ['orders'] };
secret = String((await send('/api/webhooks/endpoints', endpoint))['secret']);

const webhook = once(receiver, 'webhook');
const order = await send('/api/collections/orders/records', { item: 'a lamp' });
console.log(`Ordered ${String(order['item'])}.`);
await webhook;

receiver.close();
receiver.closeAllConnections();
await chancery.stop();
console.log('Stopped.');

async function send(path: string, body: object): Promise<Record<string, unknown>> {
  const headers = {
    'content-type': 'application/json',
    ...(path.includes('auth-with') ? {} : { authorization }),
  };
  const response = await fetch(chancery.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  // Every answer of the API is an object.
  return (await response.json()) as Record<string, unknown>;
}

/** Verifies a webhook by Standard Webhooks. Libraries do the same. */
function verify(headers: IncomingHttpHeaders, body: string): boolean {
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  const signatures = String(headers['webhook-signature']).split(' ');
  return signatures
    .map((one) => Buffer.from(one))
    .some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}
