// Verifies a webhook in Node with nothing but Node. In TypeScript, other runtimes and frameworks use @chancery/webhooks (kit/).
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Says whether a request is genuine. `body` is the bytes as they came; `nowSeconds` is Date.now() / 1000. */
export function verify({ secret, id, timestamp, signature, body, nowSeconds }) {
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(nowSeconds - Number(timestamp)) > 300) return false;
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
  if (key.length === 0) return false; // A secret that is not set must not be one that anybody knows.
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  return signature.split(' ').some((entry) => {
    const given = Buffer.from(entry.startsWith('v1,') ? entry.slice(3) : '', 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
