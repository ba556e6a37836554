import { fromTimestamp } from '../base/timestamp.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { WebhookInstance } from '../endpoints/webhook-instance.ts';
import { type AlertMails, storeMail } from './alert-mails.ts';
import { sendAlert, storeExpiring } from './endpoint-alerts.ts';

/** How many days before the end of a client certificate alerts are sent, and once more when it has ended. */
const alertDays = [0, 1, 7, 30] as const;
const dayMs = 86_400_000;

/** An alert that is due: `mark` is stored so that none is sent twice. */
interface DueAlert {
  readonly endpoint: Endpoint;
  readonly mark: string;
}

type CertificateInstance = Pick<WebhookInstance, 'database' | 'endpoints' | 'clock'>;

/** Sends the alerts about client certificates that end soon, each once, whatever the number of nodes. */
export async function alertExpiring(instance: WebhookInstance, mails: AlertMails | undefined): Promise<void> {
  const { due } = await readAlerts(instance);
  for (const { endpoint, mark } of due)
    await instance.database.write(async (tx) => {
      if (!(await saveMark(tx, endpoint, mark))) return;
      await storeExpiring(tx, instance, endpoint);
      const { expires = '' } = endpoint.clientCertificate ?? {};
      const isOver = fromTimestamp(expires) <= instance.clock.now();
      const cause = `It ${isOver ? 'expired' : 'expires'} on ${expires}.`;
      const alert = { kind: 'expiring', endpoint, cause, event: '' } as const;
      const mail = await storeMail(tx, instance, alert);
      tx.afterCommit(() => sendAlert(instance, { alert, mail }, mails));
    });
}

/** Returns when the next of these alerts is due, in milliseconds since 1970; infinity for never. */
export async function readCertificatesDue(instance: CertificateInstance): Promise<number> {
  const { due, nextAt } = await readAlerts(instance);
  return due.length > 0 ? instance.clock.now() : nextAt;
}

async function readAlerts({
  database,
  endpoints,
  clock,
}: CertificateInstance): Promise<{ readonly due: readonly DueAlert[]; readonly nextAt: number }> {
  const now = clock.now();
  const due: DueAlert[] = [];
  let nextAt = Number.POSITIVE_INFINITY;
  const withCertificate = (await endpoints.stored(database)).filter((one) => one.clientCertificate !== null);
  if (withCertificate.length === 0) return { due, nextAt };
  const marks = await readMarks(database);
  for (const endpoint of withCertificate) {
    const { fingerprint = '', expires = '' } = endpoint.clientCertificate ?? {};
    const leftDays = (fromTimestamp(expires) - now) / dayMs;
    const days = alertDays.find((one) => leftDays <= one);
    const mark = `${fingerprint} ${days}`;
    if (days !== undefined && marks.get(endpoint.number) !== mark) due.push({ endpoint, mark });
    const next = alertDays.findLast((one) => leftDays > one);
    if (next !== undefined) nextAt = Math.min(nextAt, fromTimestamp(expires) - next * dayMs);
  }
  return { due, nextAt };
}

async function readMarks(reader: Reader): Promise<ReadonlyMap<number, string>> {
  const { names } = reader;
  const rows = await reader.tuples(
    sql`SELECT endpoint, certificate_alert FROM ${names.table('$lane')} WHERE ${names.instance.condition} AND certificate_alert <> ''`,
  );
  return new Map(rows.map(([endpoint, mark]) => [Number(endpoint), String(mark)]));
}

/** Returns whether the alert is to be sent: another node may have sent it, or the endpoint may have been changed. */
async function saveMark(tx: Transaction, { number, updated }: Endpoint, mark: string): Promise<boolean> {
  const { names } = tx;
  const changed = await tx.run(sql`
    UPDATE ${names.table('$lane')} SET certificate_alert = ${mark}
    WHERE ${names.instance.condition} AND endpoint = ${number} AND certificate_alert <> ${mark} AND EXISTS (
      SELECT 1 FROM ${names.table('$endpoint')}
      WHERE ${names.instance.condition} AND position = ${number} AND updated = ${updated} AND deleted = '')`);
  return changed > 0;
}
