import { isJsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { WebhookInstance, WebhookInstanceLoan } from '../endpoints/webhook-instance.ts';
import type { Mailer } from '../mail/mailer.ts';
import { type MailText, renderMail } from '../mail/render-mail.ts';
import { limit, sql, type Sql } from '../sql/sql.ts';
import type { Names, Reader, Transaction } from '../storage/database.ts';

/** An alert of which a mail tells. */
export interface MailedAlert {
  readonly kind: 'away' | 'disabled' | 'recovered' | 'exhausted' | 'expiring';
  readonly endpoint: Endpoint;
  /** In plain words; empty for an endpoint that recovered. */
  readonly cause: string;
}

/** A mail as it is stored until a mail server has accepted it. */
export interface DueMail {
  readonly name: string;
  readonly value: string;
}

/** What is stored of a mail: it is rendered when it is sent. */
interface MailFacts extends Pick<MailedAlert, 'kind' | 'cause'> {
  readonly endpoint: string;
  /** When it was stored, and until when another process leaves it to the one that sends it; in milliseconds since 1970. */
  readonly since: number;
  readonly claimedUntil: number;
}

/** Longer than a conversation with a mail server takes. */
const claimMs = 45_000;
/** A mail that no server has accepted for so long is dropped. */
const keptMs = 86_400_000;
const namePrefix = 'alert mail ';

export interface AlertMailsOptions {
  readonly mailer: Pick<Mailer, 'send' | 'recorded' | 'stop'>;
  readonly borrow: (instanceId: string) => Promise<WebhookInstanceLoan | undefined>;
  readonly logger: Logger;
}

/**
 * Sends the mails of alerts. A mail is stored in the transaction that causes it, and is due until a mail server has accepted it: where the process
 * dies before, or the server refuses it, the janitor has it sent when it visits the instance. It may arrive twice where the process dies in between.
 */
export class AlertMails {
  readonly #options: AlertMailsOptions;
  /** The mails that this process is sending, by instance and name. */
  readonly #sending = new Map<string, Promise<void>>();

  constructor(options: AlertMailsOptions) {
    this.#options = options;
  }

  /** Sends a mail once its alert is committed. */
  send(
    instance: WebhookInstance,
    { alert, mail }: { readonly alert: MailedAlert; readonly mail: DueMail | undefined },
  ): void {
    // A development server records mails even without a mail server.
    const isRecorded = this.#options.mailer.recorded(instance.id) !== undefined;
    if (alert.endpoint.contact === '' || (mail === undefined && !isRecorded)) return;
    const key = keyOf(instance, mail);
    const sending = this.#send(instance, alert, mail).finally(() => {
      if (this.#sending.get(key) === sending) this.#sending.delete(key);
    });
    this.#sending.set(key, sending);
  }

  /** Sends the mails that are due and that nobody is sending. */
  async sendDue(instance: WebhookInstance): Promise<void> {
    const { database, endpoints, settings, dueClock, logger } = instance;
    const now = dueClock.now();
    for (const mail of await readMails(database)) {
      const facts = toFacts(mail.value);
      const isOld = facts !== undefined && now - facts.since >= keptMs;
      if (isOld) logger.warn('The mail of an alert was dropped after a day.', { endpoint: facts.endpoint });
      const isDue = facts !== undefined && !isOld && settings.current.smtp.enabled;
      const endpoint = isDue ? await endpoints.find(database, facts.endpoint) : undefined;
      if (!isDue || endpoint === undefined || endpoint.contact === '') {
        await database.write((tx) => removeMail(tx, mail));
        continue;
      }
      if (now < facts.claimedUntil || this.#sending.has(keyOf(instance, mail))) continue;
      const value = JSON.stringify({ ...facts, claimedUntil: now + claimMs });
      if (await database.write((tx) => claimMail(tx, mail, value)))
        this.send(instance, { alert: { ...facts, endpoint }, mail: { name: mail.name, value } });
    }
  }

  /** Stops the mailer, after at most this time, and stores what it has sent. */
  async stop(timeoutMs: number): Promise<void> {
    await this.#options.mailer.stop(timeoutMs);
    while (this.#sending.size > 0) await Promise.all(this.#sending.values());
  }

  /** The instance need not stay open while the mail waits for its turn. */
  async #send(
    { id, settings }: Pick<WebhookInstance, 'id' | 'settings'>,
    alert: MailedAlert,
    mail: DueMail | undefined,
  ): Promise<void> {
    const { mailer, borrow, logger } = this.#options;
    const text = renderAlert(alert, settings.current.meta);
    const purpose = 'endpoint-alert';
    // Failures are logged by the mailer.
    const { kind } = await mailer.send({ id, settings }, { ...text, to: alert.endpoint.contact, purpose });
    if (kind === 'failed' || mail === undefined) return;
    try {
      const loan = await borrow(id);
      await loan?.instance.database.write((tx) => removeMail(tx, mail)).finally(() => loan.release());
    } catch (error) {
      logger.warn('The mail of an alert may be sent again.', { instance: id, error });
    }
  }
}

function keyOf({ id }: Pick<WebhookInstance, 'id'>, mail: DueMail | undefined): string {
  return `${id} ${mail?.name ?? ''}`;
}

/** Stores the mail of an alert, in the transaction that causes it; returns undefined where none is sent. */
export async function storeMail(
  tx: Transaction,
  { settings, dueClock }: Pick<WebhookInstance, 'settings' | 'dueClock'>,
  { kind, endpoint, cause }: MailedAlert,
): Promise<DueMail | undefined> {
  if (endpoint.contact === '' || !settings.current.smtp.enabled) return undefined;
  const since = dueClock.now();
  const facts: MailFacts = { kind, endpoint: endpoint.id, cause, since, claimedUntil: since + claimMs };
  const mail = { name: `${namePrefix}${endpoint.id} ${kind}`, value: JSON.stringify(facts) };
  const { names } = tx;
  await tx.run(sql`
    INSERT INTO ${names.table('$instance_setting')} (${names.instance.column}name, value) VALUES (${names.instance.value}${mail.name}, ${mail.value})
    ON CONFLICT (${names.instance.column}name) DO UPDATE SET value = excluded.value`);
  return mail;
}

/** Returns whether mails of alerts are stored. */
export async function hasDueMails(reader: Reader): Promise<boolean> {
  const rows = await reader.tuples(sql`SELECT 1 FROM ${mailRows(reader.names)}${limit(1)}`);
  return rows.length > 0;
}

function mailRows(names: Names): Sql {
  return sql`${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name LIKE ${`${namePrefix}%`}`;
}

async function readMails(reader: Reader): Promise<readonly DueMail[]> {
  const rows = await reader.tuples(sql`SELECT name, value FROM ${mailRows(reader.names)} ORDER BY name`);
  return rows.map(([name, value]) => ({ name: String(name), value: String(value) }));
}

function isSame({ names }: Transaction, { name, value }: DueMail): Sql {
  return sql`${names.instance.condition} AND name = ${name} AND value = ${value}`;
}

/** Returns whether no other process has claimed it first. */
async function claimMail(tx: Transaction, mail: DueMail, value: string): Promise<boolean> {
  const table = tx.names.table('$instance_setting');
  return (await tx.run(sql`UPDATE ${table} SET value = ${value} WHERE ${isSame(tx, mail)}`)) > 0;
}

/** A later alert of the same kind stays. */
async function removeMail(tx: Transaction, mail: DueMail): Promise<void> {
  await tx.run(sql`DELETE FROM ${tx.names.table('$instance_setting')} WHERE ${isSame(tx, mail)}`);
}

/** Returns undefined for what a later version has stored. */
function toFacts(value: string): MailFacts | undefined {
  const facts: unknown = JSON.parse(value);
  const kind = isJsonObject(facts) ? Object.keys(templates).find((one) => one === facts['kind']) : undefined;
  // The cast holds: `storeMail` writes these members together.
  return kind === undefined ? undefined : (facts as MailFacts);
}

function renderAlert(
  { kind, endpoint, cause }: MailedAlert,
  meta: WebhookInstance['settings']['current']['meta'],
): MailText {
  const values: Readonly<Record<string, string>> = {
    id: endpoint.id,
    name: endpoint.description === '' ? endpoint.id : endpoint.description,
    // Path and query may hold secrets.
    host: URL.parse(endpoint.url)?.host ?? '',
  };
  return renderMail(templates[kind], { meta, alertInfo: cause, field: (name) => values[name] ?? '' });
}

const link =
  '<p><a href="{APP_URL}/_/webhooks/{RECORD:id}" target="_blank" rel="noopener">View endpoint</a></p>';
const subjectOf = (what: string): string => `{APP_NAME}: ${what}`;
const bodyOf = (...paragraphs: readonly string[]): string =>
  [...paragraphs.map((one) => `<p>${one}</p>`), link].join('\n');

const templates = {
  away: {
    subject: subjectOf('an endpoint has been failing for an hour'),
    body: bodyOf(
      'The endpoint {RECORD:name} at {RECORD:host} has not accepted a webhook from {APP_NAME} for an hour:',
      '{ALERT_INFO}',
      'Nothing is lost: we keep retrying, and queued webhooks go out once it recovers. After five days without a success, the endpoint is disabled.',
    ),
  },
  disabled: {
    subject: subjectOf('an endpoint was disabled'),
    body: bodyOf(
      'The endpoint {RECORD:name} at {RECORD:host} no longer receives webhooks from {APP_NAME}:',
      '{ALERT_INFO}',
      'Its webhooks are queued until you resume the endpoint, for as long as events are kept.',
    ),
  },
  recovered: {
    subject: subjectOf('an endpoint recovered'),
    body: bodyOf(
      'The endpoint {RECORD:name} at {RECORD:host} accepts webhooks from {APP_NAME} again. Queued webhooks are being sent.',
    ),
  },
  expiring: {
    subject: subjectOf('a client certificate needs to be renewed'),
    body: bodyOf(
      'Renew the client certificate that {APP_NAME} uses for the endpoint {RECORD:name} at {RECORD:host}:',
      '{ALERT_INFO}',
      'After it expires, the receiver will probably reject webhooks.',
    ),
  },
  exhausted: {
    subject: subjectOf('a webhook could not be delivered'),
    body: bodyOf(
      'A webhook from {APP_NAME} to the endpoint {RECORD:name} at {RECORD:host} failed, and there are no more retries:',
      '{ALERT_INFO}',
      'You can resend it once the cause is fixed. You get at most one of these emails a day.',
    ),
  },
} as const;
