import assert from 'node:assert/strict';
import type { App } from '../../src/app.ts';
import { type CollectionSecret, providerSecret, tokenKinds } from '../../src/collections/collection.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { tokenSecretPlace } from '../../src/instances/token-secrets.ts';
import { operatorSealId } from '../../src/operator/operator-control.ts';
import { OperatorEndpointStore } from '../../src/operator/operator-endpoint-store.ts';
import { sealerFor } from '../../src/secrets/seal.ts';
import { sql, type Sql } from '../../src/sql/sql.ts';
import { isSecretHeader } from '../../src/sending/endpoint-request.ts';

/** A text that a service has answered, logged or written. */
interface Told {
  /** Where the text was seen: `GET /api/logs`, `the log of the service`. */
  readonly where: string;
  readonly text: string;
}

/** Shorter secrets are not searched for: they could stand in a text by chance. */
const lengthMin = 8;
/** Characters kept of all answers: a test of huge bodies must not keep all of them. */
const toldLengthMax = 50_000_000;

/** The requests whose answers show the secret of an endpoint: its creation, an import, its rotation, the route for the secret, and the creation of its instance; the first and the third also of one of the operator. */
const showsEndpointSecret =
  /^(?:POST \S*\/api\/webhooks\/endpoints(?:\/[^/]+\/secret\/rotate)?|POST \S*\/api\/operator\/(?:instances|endpoints(?:\/[^/]+\/secret\/rotate)?)|PUT \S*\/api\/webhooks\/endpoints\/import|GET \S*\/api\/webhooks\/endpoints\/[^/]+\/secret)(?:\?|$)/;
const anEndpointSecret = 'the secret of an endpoint';
/** The one request whose answer shows an API key. */
const showsKey = /^POST \S*\/(?:api\/keys|api\/operator\/instances\/[^/]+\/keys)$/;
const anApiKey = 'an API key';
/** Matches the stored hash of any password. */
const passwordHash = /\$argon2id?\$|\$2[aby]\$\d\d\$/;

/**
 * Uses all secrets of an instance as canaries: when a test is over, everything that its service has answered, logged or written
 * into events is searched for each of them.
 */
export class Canaries {
  readonly #told: Told[] = [];
  #length = 0;
  /** API keys, collected from the answers that created them: only digests are stored. */
  readonly #keys: (readonly [what: string, secret: string])[] = [];

  /** Remembers an answer. */
  note(where: string, text: string): void {
    const key = showsKey.test(where) ? /"key":"(ck_\w+)"/.exec(text)?.[1] : undefined;
    if (key !== undefined) this.#keys.push([anApiKey, key]);
    this.#length += text.length;
    if (this.#length <= toldLengthMax) this.#told.push({ where, text });
  }

  /** Throws for the first secret found. `log` is the service's log for its operator. */
  async search(app: App, log: unknown, masterKey: string): Promise<void> {
    const told = [...this.#told, { where: 'the log of the service', text: textOf(log) }];
    assertSilent(told, [['the master key', masterKey], ...this.#keys]);
    const hash = told.find(({ text }) => passwordHash.test(text));
    assert.equal(hash, undefined, `${hash?.where}: a hash of a password`);
    await searchOperator(app, told);
    for (const { id } of app.data.directory.all()) {
      const loan = app.data.instances.borrowOpen(id);
      if (loan === undefined) continue;
      try {
        const written = await writtenBy(loan.instance);
        assertSilent([...told, ...written], [...this.#keys, ...(await secretsOf(loan.instance))]);
      } catch (error) {
        // Other errors mean that a test of failures has taken the database away, and with it the secrets.
        if (error instanceof assert.AssertionError) throw error;
      } finally {
        loan.release();
      }
    }
  }
}

/** Searches for the secrets of the operator's endpoints, also in its events. */
async function searchOperator({ data }: App, told: readonly Told[]): Promise<void> {
  const { home, masterKey, dueClock } = data;
  const { control } = home;
  try {
    const store = new OperatorEndpointStore(control, sealerFor(masterKey, operatorSealId), dueClock);
    const secrets = (await store.all()).flatMap(({ secret, previousSecret }) =>
      [secret, previousSecret].map((one) => [anEndpointSecret, one] as const),
    );
    if (secrets.length === 0) return;
    const table = (name: '$operator_event' | '$audit' | '$operator_endpoint'): Sql =>
      control.names.table(name);
    const written = await Promise.all([
      control.all(sql`SELECT data FROM ${table('$operator_event')}`),
      control.all(sql`SELECT details FROM ${table('$audit')} WHERE ${control.names.instance.condition}`),
      control.all(sql`SELECT * FROM ${table('$operator_endpoint')}`),
    ]);
    const rows = { where: 'the tables of the operator', text: textOf(written) };
    assertSilent([...told, rows], secrets);
  } catch (error) {
    // As below.
    if (error instanceof assert.AssertionError) throw error;
  }
}

function assertSilent(
  told: readonly Told[],
  secrets: readonly (readonly [what: string, secret: string])[],
): void {
  for (const [what, secret] of secrets) {
    if (secret.length < lengthMin) continue;
    // The secret as JSON escapes it.
    const written = JSON.stringify(secret).slice(1, -1);
    for (const { where, text } of told) {
      if (!text.includes(written) && !text.includes(secret)) continue;
      const shows = what === anApiKey ? showsKey : showsEndpointSecret;
      const mayShow = [anApiKey, anEndpointSecret].includes(what) && shows.test(where);
      assert.ok(mayShow, `${where} tells ${what}: ${secret}`);
    }
  }
}

/** Returns events as receivers get them, causes and answers of their deliveries, and the log of requests. */
async function writtenBy({ database, logs }: Instance): Promise<readonly Told[]> {
  const { names } = database;
  const events = await database.all(
    sql`SELECT body FROM ${names.table('$event')} WHERE ${names.instance.condition}`,
  );
  const attempts = await database.all(
    sql`SELECT cause, response_headers, response_body FROM ${names.table('$attempt')} WHERE ${names.instance.condition}`,
  );
  const deliveries = await database.all(
    sql`SELECT cause FROM ${names.table('$outcome')} WHERE ${names.instance.condition}`,
  );
  const table = await logs.table();
  const requests = await table.all(
    sql`SELECT message, data FROM ${table.names.table('$log')} WHERE ${table.names.instance.condition}`,
  );
  const bodies = events.map(({ body }) => textOfBytes(body));
  const answers = attempts.map(({ response_body: body }) => textOfBytes(body));
  return [
    { where: 'the events', text: bodies.join('\n') },
    { where: 'the deliveries', text: textOf([...attempts, ...answers, ...deliveries]) },
    { where: 'the log of requests', text: textOf(requests) },
  ];
}

function textOfBytes(value: unknown): string {
  // The column holds bytes.
  return Buffer.from(value as Uint8Array).toString();
}

function secretKind(name: string): CollectionSecret | undefined {
  if (name.startsWith('oauth2 ')) return providerSecret(name.slice('oauth2 '.length));
  return tokenKinds.find((one) => one === name);
}

async function secretsOf(instance: Instance): Promise<readonly (readonly [string, string])[]> {
  const { database, sealer, settings } = instance;
  const { names } = database;
  const rows = await database.all(
    sql`SELECT collection, record, name, value FROM ${names.table('$secret')} WHERE ${names.instance.condition}`,
  );
  const kept = rows.flatMap(({ collection, record, name, value }) => {
    const what = `${String(name)} of ${String(collection)} ${String(record)}`;
    const kind = record === '' ? secretKind(String(name)) : undefined;
    const stored = [what, String(value)] as const;
    if (kind === undefined) return [stored];
    return [stored, [what, sealer.open(String(value), tokenSecretPlace(String(collection), kind))] as const];
  });
  const endpoints = await instance.endpoints.all(database);
  const signingKeys = await instance.endpoints.readSigningKeys(database);
  const digests = await database.all(sql`
    SELECT digest FROM ${names.table('$api_key')} WHERE ${names.instance.condition}
    UNION ALL SELECT digest FROM ${names.table('$portal_link')} WHERE ${names.instance.condition}
    UNION ALL SELECT digest FROM ${names.table('$setup_token')} WHERE ${names.instance.condition}`);
  const { smtp, s3, backups } = settings.current;
  return [
    ...kept,
    ...endpoints.flatMap(({ secret, previousSecret }) =>
      [secret, previousSecret].map((one) => [anEndpointSecret, one] as const),
    ),
    ...endpoints.flatMap(({ headers }) =>
      Object.entries(headers)
        .filter(([name]) => isSecretHeader(name))
        .map(([, value]) => ['a header of an endpoint', value] as const),
    ),
    ...[signingKeys?.current, signingKeys?.previous].map(
      (key) => ['the private key of signatures', key?.d ?? ''] as const,
    ),
    ...endpoints.flatMap(({ clientCertificate }) =>
      // A line of it, however the others were written.
      clientCertificate === null
        ? []
        : [['the key of a client certificate', clientCertificate.key.split('\n')[1] ?? ''] as const],
    ),
    ...endpoints.flatMap(({ oauth2 }) =>
      oauth2 === null ? [] : [['the secret of a client of OAuth 2.0', oauth2.clientSecret] as const],
    ),
    ...digests.map(({ digest }) => ['the digest of a key', String(digest)] as const),
    ['the password of SMTP', smtp.password],
    ['the secret of S3', s3.secret],
    ['the secret of backups', backups.s3.secret],
  ];
}

/** Writes a value as JSON, including the members of errors, which JSON.stringify leaves out. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member === 'bigint') return String(member);
    if (!(member instanceof Error)) return member;
    const { message, stack, cause } = member;
    return { message, stack, cause, ...Object.fromEntries(Object.entries(member)) };
  });
}
