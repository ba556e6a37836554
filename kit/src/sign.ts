import { keyOf, type Scheme, signatureOf, standardContent, toBytes, type WebhookBody } from './signature.ts';

export interface SignOptions {
  /** The current secret; a second one is the previous one of a rotation. */
  readonly secret: string | readonly string[];
  readonly body: WebhookBody;
  /** The id of the event, which has no dot. */
  readonly id: string;
  /** When the attempt is made. Now by default. */
  readonly timestampSeconds?: number;
}

/**
 * Returns the headers by which Chancery would sign a body, in both schemes: for the tests of a receiver, which can then be sent a
 * webhook without a Chancery.
 */
export async function sign(options: SignOptions): Promise<Record<string, string>> {
  const { secret, id, timestampSeconds = Math.floor(Date.now() / 1000) } = options;
  const secrets = typeof secret === 'string' ? [secret] : secret;
  const timestamp = String(timestampSeconds);
  const body = toBytes(options.body);
  const content = { standard: standardContent({ id, timestamp, body }), service: body };
  const signatures = (scheme: Scheme): Promise<string[]> =>
    Promise.all(secrets.map((one) => signatureOf(keyOf(one, scheme), content[scheme], scheme)));
  const [current = '', previous] = await signatures('service');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': (await signatures('standard')).join(' '),
    'x-service-signature': current,
    ...(previous === undefined ? {} : { 'x-service-signature-previous': previous }),
  };
}
