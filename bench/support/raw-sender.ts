/**
 * The ceiling of delivering: undici POSTs the same bytes with both signatures to the same receiver, 64 at a time, and knows no
 * database. Arguments: the receiver's URL, how many, the body's length. Prints how many milliseconds it took, and microseconds of processor time.
 */
import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';

const [url = '', count = '0', bytes = '700'] = process.argv.slice(2);
const body = Buffer.alloc(Number(bytes), 'x');
const secret = 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=';
const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
const dispatcher = new Agent({ connections: 64, pipelining: 1 });
let next = 0;

async function send(): Promise<void> {
  while (next < Number(count)) {
    next += 1;
    const id = `0mwous0g0k4yxot${next}`;
    const timestamp = Math.floor(Date.now() / 1000);
    const answer = await request(url, {
      dispatcher,
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'raw',
        'x-service-signature': createHmac('sha256', secret).update(body).digest('hex'),
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
      },
    });
    await answer.body.dump();
  }
}

const start = performance.now();
const processorStart = process.cpuUsage();
await Promise.all(Array.from({ length: 64 }, send));
const ms = performance.now() - start;
const { user, system } = process.cpuUsage(processorStart);
process.stdout.write(`${ms} ${user + system}\n`);
await dispatcher.close();
