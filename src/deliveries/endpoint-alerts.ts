import { toTimestamp } from '../base/timestamp.ts';
import { isOperational, type NewEvent, type OperationalEventKind } from '../events/event.ts';
import { limit, sql, type Sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import { warnOfEndpoint } from '../endpoints/endpoint-warnings.ts';
import { type Endpoint, wants } from '../endpoints/endpoint.ts';
import { type AlertMails, type DueMail, type MailedAlert, storeMail } from './alert-mails.ts';
import { type AlertState, type LaneAlerts, saveAlert, saveDisabledAlert } from './lane-store.ts';
import type { WebhookInstance } from '../endpoints/webhook-instance.ts';

/**
 * Alerts about an endpoint, by mail and as events to other endpoints: it accepts nothing for an hour, it is disabled, it recovered, the
 * first exhausted delivery of a day, and the end of its certificate (certificate-alerts.ts). Samples of its failed attempts are events alone. An alert and its event are stored
 * with the lane, in the transaction that causes them: no other process or node sends it again. So is its mail, which is sent after the commit (alert-mails.ts).
 */
export interface EndpointAlert extends MailedAlert {
  /** The id of the event whose delivery caused the alert; empty where none did. */
  readonly event: string;
}

/** The parts of an attempt that alerts depend on. */
export interface AlertingAttempt {
  readonly endpoint: Endpoint;
  readonly delivery: string;
  readonly event: string;
  /** The kind of the event. */
  readonly kind: string;
  readonly isSuccess: boolean;
  readonly isExhausted: boolean;
  readonly cause: string;
}

interface AlertTurn {
  readonly kind: 'away' | 'recovered' | 'exhausted';
  readonly after: LaneAlerts;
}

/** How long a breaker is open before an alert is sent. */
export const awayAfterMs = 3_600_000;

/** Returns the alerts that an attempt causes, each with the state to store. */
export function alertsAfter(
  { alerts, lane }: Pick<AlertState, 'alerts' | 'lane'>,
  { isSuccess, isExhausted }: Pick<AlertingAttempt, 'isSuccess' | 'isExhausted'>,
  now: number,
): readonly AlertTurn[] {
  const turns: AlertTurn[] = [];
  let stored = alerts;
  // After an alert of a recovery, a relapse is measured from there.
  const awaySince = Math.max(lane.since, alerts.recoveredAt);
  if (isSuccess && alerts.alert !== '')
    turns.push({ kind: 'recovered', after: (stored = { ...stored, alert: '', recoveredAt: now }) });
  else if (!isSuccess && alerts.alert === '' && lane.state === 'open' && now - awaySince >= awayAfterMs)
    turns.push({ kind: 'away', after: (stored = { ...stored, alert: 'open' }) });
  const exhaustedDay = toTimestamp(now).slice(0, dayLength);
  if (isExhausted && alerts.exhaustedDay < exhaustedDay)
    turns.push({ kind: 'exhausted', after: { ...stored, exhaustedDay } });
  return turns;
}

const dayLength = '2026-11-20'.length;

/** The lanes of an instance, as alerts use them. */
interface AlertingLanes {
  readonly instance: WebhookInstance;
  alertState(endpointId: string): AlertState | undefined;
}

/** An alert that is stored, and the state of its lane from then on. */
export interface StoredAlert {
  readonly alert: EndpointAlert;
  readonly after: LaneAlerts;
  /** Whether it was stored here for the first time. */
  readonly isFirst: boolean;
  /** Its mail, where one is to be sent. */
  readonly mail: DueMail | undefined;
}

/** Stores the alerts that attempts cause, with their events, in the transaction that settles them. */
export async function storeAlerts(
  tx: Transaction,
  lanes: AlertingLanes,
  settlement: { readonly attempts: readonly AlertingAttempt[]; readonly now: number; readonly fence: Sql },
): Promise<readonly StoredAlert[]> {
  const stored: StoredAlert[] = [];
  const latest = new Map<string, LaneAlerts>();
  for (const attempt of settlement.attempts) {
    const { endpoint, event, cause } = attempt;
    const state = lanes.alertState(endpoint.id);
    if (state === undefined) continue;
    const before = latest.get(endpoint.id) ?? state.alerts;
    for (const { kind, after } of alertsAfter({ ...state, alerts: before }, attempt, settlement.now)) {
      const row = { endpoint: endpoint.number, updated: state.updated, after };
      const current = latest.get(endpoint.id) ?? state.alerts;
      const isFirst = await saveAlert(tx, { ...row, before: current }, settlement.fence);
      latest.set(endpoint.id, after);
      const alert = { kind, endpoint, event, cause };
      const mail = isFirst ? await storeMail(tx, lanes.instance, alert) : undefined;
      stored.push({ alert, after, isFirst, mail });
      const content = isFirst ? eventOf(kind, attempt) : undefined;
      if (content !== undefined) await appendOperational(tx, lanes.instance, { endpoint, ...content });
    }
  }
  await storeFailures(tx, lanes.instance, settlement);
  return stored;
}

/** Of each endpoint one failed attempt in this time becomes an event, whatever is restarted meanwhile. */
const failureEveryMs = 360_000;

/** Stores events of failed attempts, where an endpoint asks for them. One about such an event causes none, as for exhausted deliveries. */
async function storeFailures(
  tx: Transaction,
  instance: WebhookInstance,
  { attempts, now, fence }: Parameters<typeof storeAlerts>[2],
): Promise<void> {
  const failed = attempts.filter(({ isSuccess, kind }) => !isSuccess && !isOperational(kind));
  if (failed.length === 0) return;
  const all = await instance.endpoints.all(tx);
  const isWanted = (record: string): boolean =>
    all.some((other) => wants(other, { kind: 'attempt.failed', collection: '', record }));
  const firstOfEach = new Map(failed.toReversed().map((attempt) => [attempt.endpoint.id, attempt]));
  const { names } = tx;
  for (const { endpoint, delivery, event, cause } of firstOfEach.values()) {
    if (!isWanted(endpoint.id)) continue;
    const last = sql`
      SELECT created FROM ${names.table('$event')}
      WHERE ${names.instance.condition} AND record = ${endpoint.id} AND kind = 'attempt.failed' ORDER BY position DESC${limit(1)}`;
    const [row] = await tx.tuples(
      sql`SELECT 1 WHERE coalesce((${last}), '') <= ${toTimestamp(now - failureEveryMs)} AND ${fence}`,
    );
    const data = { delivery, event, endpoint: endpoint.id, cause };
    if (row !== undefined) await appendOperational(tx, instance, { endpoint, kind: 'attempt.failed', data });
  }
}

type AlertContent = { readonly kind: OperationalEventKind; readonly data: Readonly<Record<string, string>> };

/** Returns the event of an alert. An exhausted delivery of such an event causes none: two endpoints would notify each other for ever. */
function eventOf(
  kind: AlertTurn['kind'],
  { endpoint: { id, url }, delivery, event, kind: delivered, cause }: AlertingAttempt,
): AlertContent | undefined {
  if (kind === 'away') return { kind: 'endpoint.failing', data: { id, url, reason: cause } };
  if (kind === 'recovered') return { kind: 'endpoint.recovered', data: { id, url } };
  if (kind !== 'exhausted' || isOperational(delivered)) return undefined;
  return { kind: 'delivery.exhausted', data: { delivery, event, endpoint: id, cause } };
}

/** Stores that an endpoint is disabled, with its event and its mail, in the transaction that disables it. */
export async function storeDisabled(
  tx: Transaction,
  instance: WebhookInstance,
  { endpoint, reason }: { readonly endpoint: Endpoint; readonly reason: string },
): Promise<DueMail | undefined> {
  await saveDisabledAlert(tx, endpoint.number);
  const { id, url } = endpoint;
  await appendOperational(tx, instance, { endpoint, kind: 'endpoint.disabled', data: { id, url, reason } });
  return storeMail(tx, instance, { kind: 'disabled', endpoint, cause: reason });
}

/** Stores the event that the client certificate of an endpoint ends soon, in the transaction that notes the alert. */
export async function storeExpiring(
  tx: Transaction,
  instance: WebhookInstance,
  endpoint: Endpoint,
): Promise<void> {
  const { id, url, clientCertificate } = endpoint;
  const { fingerprint = '', expires = '' } = clientCertificate ?? {};
  const data = { id, url, fingerprint, expires };
  await appendOperational(tx, instance, { endpoint, kind: 'endpoint.certificate_expiring', data });
}

/** Writes an event about an endpoint, unless the instance logs only events with a recipient and this has none. */
async function appendOperational(
  tx: Transaction,
  { events, endpoints, settings, clock }: WebhookInstance,
  { endpoint, kind, data }: AlertContent & { readonly endpoint: Endpoint },
): Promise<void> {
  const about = { kind, collection: '', collectionName: '', record: endpoint.id, revision: 0 };
  const event: NewEvent = { ...about, created: toTimestamp(clock.now()), dataJson: JSON.stringify(data) };
  const isWanted = (await endpoints.all(tx)).some((other) => wants(other, event));
  if (isWanted || settings.current.webhooks.events === 'always') await events.append(tx, event);
}

/** Logs an alert and sends its mail, once it is committed. */
export function sendAlert(
  instance: WebhookInstance,
  { alert, mail }: Pick<StoredAlert, 'alert' | 'mail'>,
  mails: AlertMails | undefined,
): void {
  const { kind, endpoint, cause, event } = alert;
  // The other kinds are logged already.
  if (kind === 'away' || kind === 'recovered' || kind === 'expiring')
    warnOfEndpoint(instance, endpoint, { kind, ...(event !== '' && { event }), cause });
  mails?.send(instance, { alert, mail });
}
