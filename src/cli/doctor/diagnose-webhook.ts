import { isJsonObject } from '../../base/json.ts';
import { checkSigningSecret, signBody, standardSignature } from '../../sending/signature.ts';
import type { Check } from './checks.ts';
import { durationText } from '../terminal/duration-text.ts';

/** A request that a receiver got, and what it wants to verify it with. */
export interface ReceivedWebhook {
  readonly secret: string;
  /** Values by names in lower case; several of a header that came several times. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: Uint8Array;
  /** When it is verified, in seconds since 1970. */
  readonly nowSeconds: number;
  readonly toleranceSeconds: number;
}

const standardHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

/** Returns what is well and what is wrong with a webhook, in the order in which a receiver finds out. */
export function diagnoseWebhook(webhook: ReceivedWebhook): readonly Check[] {
  return [checkHeaders(webhook), checkSecret(webhook), checkTimestamp(webhook), checkSignature(webhook)];
}

function headerOf({ headers }: ReceivedWebhook, name: string): string {
  return headers.get(name)?.[0]?.trim() ?? '';
}

function checkHeaders(webhook: ReceivedWebhook): Check {
  const name = 'headers';
  const missing = standardHeaders.filter((header) => headerOf(webhook, header) === '');
  if (missing.length > 0) {
    const similar = [...webhook.headers.keys()].filter((header) =>
      /^(?:webhook|x-service|svix)-/.test(header),
    );
    const others = similar.length === 0 ? 'none' : similar.join(', ');
    return {
      name,
      state: 'failure',
      message: `Missing: ${missing.join(', ')}. Of ours there are: ${others}.`,
      advice: 'Take all headers as they came; a proxy may need a setting to pass them on.',
    };
  }
  const twice = standardHeaders.filter((header) => (webhook.headers.get(header)?.length ?? 0) > 1);
  if (twice.length === 0) return { name, state: 'ok', message: `${standardHeaders.join(', ')} are there.` };
  const message = `More than once: ${twice.join(', ')}.`;
  return { name, state: 'failure', message, advice: 'The service sends each once: who has added the other?' };
}

function checkSecret({ secret }: ReceivedWebhook): Check {
  const name = 'secret';
  const repaired = repairedSecrets(secret).find(({ value }) => checkSigningSecret(value) === null);
  const problem = checkSigningSecret(secret);
  if (problem !== null) {
    const advice = repaired && `It would be a secret ${repaired.what}.`;
    return { name, state: 'failure', message: problem, ...(advice && { advice }) };
  }
  if (secret.startsWith('whsec_'))
    return { name, state: 'ok', message: 'It has the form of a secret: whsec_ and base64.' };
  const message = 'It is not whsec_ and base64, so its own characters are the key.';
  const advice = 'Libraries for Standard Webhooks need whsec_ and the base64 of these characters.';
  return { name, state: 'warning', message, advice };
}

function checkTimestamp(webhook: ReceivedWebhook): Check {
  const name = 'timestamp';
  const text = headerOf(webhook, 'webhook-timestamp');
  const seconds = toSeconds(text);
  if (seconds === undefined) {
    const message =
      text === ''
        ? 'There is none.'
        : `webhook-timestamp is ${JSON.stringify(text)}, not seconds since 1970.`;
    return { name, state: 'failure', message };
  }
  const { nowSeconds, toleranceSeconds } = webhook;
  const age = nowSeconds - seconds;
  const where = age < 0 ? 'in the future' : 'old';
  const message = `It is ${durationText(Math.abs(age))} ${where} (${new Date(seconds * 1_000).toISOString()})`;
  if (Math.abs(age) <= toleranceSeconds) return { name, state: 'ok', message: `${message}.` };
  const isMilliseconds = Math.abs(nowSeconds - seconds / 1_000) < 86_400 * 366;
  const advice = isMilliseconds
    ? 'These are milliseconds: the header has seconds as it is sent.'
    : age < 0
      ? 'Set the clock of this machine.'
      : 'If it was saved earlier, give the time at which it came by --at; else set the clock, or queue less before verifying.';
  const excess = durationText(Math.abs(age) - toleranceSeconds);
  const says = `${message}, ${excess} more than the ${durationText(toleranceSeconds)} that are tolerated.`;
  return { name, state: 'failure', message: says, advice };
}

function toSeconds(text: string): number | undefined {
  // A date has at most this many milliseconds.
  return /^\d{1,15}$/.test(text) && Number(text) <= 8.64e12 ? Number(text) : undefined;
}

function checkSignature(webhook: ReceivedWebhook): Check {
  const name = 'signature';
  const failure = (message: string, advice: string): Check => ({ name, state: 'failure', message, advice });
  const { secret, body } = webhook;
  const candidates = headerOf(webhook, 'webhook-signature').split(' ');
  const signatures = candidates.filter((one) => one.startsWith('v1,'));
  if (signatures.length === 0)
    return failure('There is no signature of version v1.', 'It begins with v1, and base64 follows.');
  if (fits(webhook, { secret, body }, signatures))
    return { name, state: 'ok', message: `It was made with this secret over these ${body.length} bytes.` };
  const bodies = repairedBodies(body);
  const changed = bodies.find(({ value }) => fits(webhook, { secret, body: value }, signatures));
  if (changed !== undefined)
    return failure(
      `The secret is right, but the body is not as it was sent: it fits ${changed.what}.`,
      'Verify the bytes as they came, before anything parses them.',
    );
  for (const other of repairedSecrets(secret)) {
    const fit = [{ what: '', value: body }, ...bodies].find(({ value }) =>
      fits(webhook, { secret: other.value, body: value }, signatures),
    );
    if (fit !== undefined)
      return failure(
        `It fits the secret ${other.what}${fit.what === '' ? '' : `, and ${fit.what}`}.`,
        'Read the secret exactly as the service shows it.',
      );
  }
  return failure(...explainMismatch(webhook));
}

/** Says what can be told of a signature that nothing fits, and what to do. */
function explainMismatch(webhook: ReceivedWebhook): [message: string, advice: string] {
  const { secret, body } = webhook;
  const own = headerOf(webhook, 'x-service-signature');
  if (own !== '' && own === signBody(body, secret))
    return [
      'Secret and body are right, as X-Service-Signature fits: webhook-id or webhook-timestamp is not what was sent.',
      'Compare both with the attempt in the delivery log.',
    ];
  const length = headerOf(webhook, 'content-length');
  if (/^\d+$/.test(length) && Number(length) !== body.length)
    return [
      `The body has ${body.length} bytes, but Content-Length is ${length}.`,
      'Save the whole body, as bytes.',
    ];
  const damage = damageOf(body);
  if (damage !== undefined) return [damage, 'Verify the bytes as they came, before anything parses them.'];
  return [
    'It was made with another secret, or over another body.',
    'Is it the secret of the endpoint that X-Service-Delivery ends with, as it is now?',
  ];
}

interface Repaired<Value> {
  readonly what: string;
  readonly value: Value;
}

/** Returns what the secret may be that was meant. */
function repairedSecrets(secret: string): readonly Repaired<string>[] {
  const trimmed = secret.trim();
  const unquoted = trimmed.replace(/^(["'])(.*)\1$/s, '$2');
  const variants = [
    { what: 'with the white space around it removed', value: trimmed },
    { what: 'with the quotes around it removed', value: unquoted },
    { what: 'with the name of its variable removed', value: unquoted.replace(/^[A-Za-z_]+=(?=.)/, '') },
    { what: 'with whsec_ before it', value: `whsec_${unquoted}` },
    { what: 'with the padding (=) at its end', value: padded(unquoted) },
  ];
  return variants.filter(({ value }) => value !== secret);
}

function padded(secret: string): string {
  const length = secret.replace(/^whsec_/, '').length;
  return secret + '='.repeat((4 - (length % 4)) % 4);
}

/** Returns what the body may have been before something on the way changed it. */
function repairedBodies(body: Uint8Array): readonly Repaired<Uint8Array>[] {
  const text = Buffer.from(body).toString('utf8');
  const bytes = (value: string): Uint8Array => Buffer.from(value, 'utf8');
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  const compact = rewritten(text);
  const variants = [
    { what: 'the body without the line break at its end', value: bytes(text.replace(/[\r\n]+$/, '')) },
    { what: 'the body without the white space or the byte order mark around it', value: bytes(trimmed) },
    { what: 'the body with a line break at its end', value: bytes(`${text}\n`) },
    ...(compact === undefined
      ? []
      : [{ what: 'its JSON written compactly: it was parsed and written again', value: bytes(compact) }]),
    { what: 'the text inside of it: it is JSON in a JSON text', value: bytes(innerText(text) ?? text) },
    { what: 'the body read as UTF-8: it was taken for Latin-1', value: Buffer.from(text, 'latin1') },
  ];
  return variants.filter(({ value }) => Buffer.compare(value, body) !== 0);
}

function rewritten(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text.replace(/^\uFEFF/, '')));
  } catch {
    return undefined;
  }
}

function innerText(text: string): string | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'string' ? json : undefined;
  } catch {
    return undefined;
  }
}

const members = ['event', 'timestamp', 'instance_id', 'collection', 'data'];

/** Says how a body differs from all that are sent; undefined for one that may be as it was sent. */
function damageOf(body: Uint8Array): string | undefined {
  if (body.length === 0) return 'The body is empty.';
  const text = Buffer.from(body).toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(body))
    return 'The body is not UTF-8: it was compressed, or written in another encoding.';
  const compact = rewritten(text);
  if (compact === undefined) return 'The body is not JSON: it was cut, or is another one.';
  const json: unknown = JSON.parse(compact);
  const names = isJsonObject(json) ? Object.keys(json) : [];
  if (names.join() !== members.join())
    return `The members of the body are not ${members.join(', ')}, in this order: it was parsed and written again.`;
  if (compact !== text)
    return 'The body is not compact JSON, as it is sent: it was parsed and written again.';
  return undefined;
}

function fits(
  webhook: ReceivedWebhook,
  { secret, body }: Pick<ReceivedWebhook, 'secret' | 'body'>,
  signatures: readonly string[],
): boolean {
  const timestampSeconds = toSeconds(headerOf(webhook, 'webhook-timestamp'));
  if (timestampSeconds === undefined || secret === '') return false;
  const id = headerOf(webhook, 'webhook-id');
  return signatures.includes(standardSignature({ id, timestampSeconds, body, secrets: [secret] }));
}
