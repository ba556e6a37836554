import { createHmac, timingSafeEqual } from 'node:crypto';
import { Webhook } from 'standardwebhooks';

/** Verdicts of two checks of one request, neither of which uses Chancery's own code. */
export interface Verdicts {
  /** `X-Service-Signature`, by the few lines that every receiver can write. */
  readonly byHand: boolean;
  /** The headers of Standard Webhooks, by the npm package `standardwebhooks`. */
  readonly byPackage: boolean;
}

export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export function verifyWebhook(secret: string, { headers, body }: SignedRequest): Verdicts {
  return { byHand: isSigned(secret, { headers, body }), byPackage: isStandard(secret, { headers, body }) };
}

/** Checks the signature: HMAC-SHA256 in lower-case hex over the body as it came, with the secret as it was shown. */
function isSigned(secret: string, { headers, body }: SignedRequest): boolean {
  const expected = Buffer.from(createHmac('sha256', secret).update(body).digest('hex'));
  const given = Buffer.from(headers['x-service-signature'] ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function isStandard(secret: string, { headers, body }: SignedRequest): boolean {
  try {
    new Webhook(secret).verify(body.toString('utf8'), { ...headers });
    return true;
  } catch {
    return false;
  }
}
