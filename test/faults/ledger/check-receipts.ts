import type { Kill, LedgerEvidence, LedgerFigures, LedgerIndex, Report } from './check-ledger.ts';
import { noWishes } from './endpoint-wishes.ts';
import type { LedgerReceipt } from './receiver-process.ts';

type Counts = Pick<LedgerFigures, 'receipts' | 'duplicates' | 'inFlightAtKills' | 'resent'>;

/** For so long a request may be on its way: longer than the `timeoutMs` of the run's endpoints. */
const attemptMsMax = 5_000;

/** All that was received is of a committed delivery, whole and signed, and nothing came twice without a reason. */
export function checkReceipts(evidence: LedgerEvidence, index: LedgerIndex, report: Report): Counts {
  const { receipts, kills } = evidence;
  for (const receipt of receipts) checkReceipt(receipt, { evidence, index }, report);
  checkAttempts(evidence, index, report);
  const counts: Counts = { receipts: receipts.length, duplicates: 0, inFlightAtKills: 0, resent: 0 };
  for (const [id, its] of index.receipts)
    for (const [number, same] of Map.groupBy(its, ({ attempt }) => attempt)) {
      const attempt = { id, number, receipts: same };
      for (const kill of kills) if (isInFlight(attempt, kill)) counts.inFlightAtKills += 1;
      countRepeats(attempt, evidence, { counts, report });
      const isStored = number <= (index.deliveries.get(id)?.attempts ?? 0);
      const isExplained = kills.some((kill) => isInFlight(attempt, kill)) || isTakenOver(attempt, evidence);
      if (!isStored && !isExplained) report(`attempt ${number} of ${id} was received, and is not stored`);
    }
  return counts;
}

function checkReceipt(
  receipt: LedgerReceipt,
  {
    evidence: { endpoints },
    index: { deliveries },
  }: { readonly evidence: LedgerEvidence; readonly index: LedgerIndex },
  report: Report,
): void {
  const { delivery: id, receiver, eventId, sequence, digest, isVerified, line } = receipt;
  if (!isVerified) report(`receipt ${line} of ${id} has a wrong signature`);
  const delivery = deliveries.get(id);
  if (delivery === undefined)
    return report(`receipt ${line} is of ${id}, and no such delivery was committed`);
  const { event, endpoint } = delivery;
  if (endpoint.receiver !== receiver) report(`receipt ${line} of ${id} was sent to ${receiver}`);
  if (eventId !== event.id) report(`receipt ${line} of ${id} has the webhook-id ${eventId}`);
  if (sequence !== event.revision) report(`receipt ${line} of ${id} has the sequence ${sequence}`);
  const { payload } = endpoints.get(receiver)?.wishes ?? noWishes;
  if (digest !== (payload === 'thin' ? event.thinDigest : event.digest))
    report(`receipt ${line} of ${id} has other bytes than the event`);
}

/** Each attempt that is stored with an answer was received, and each successful one by a receiver that has taken it. */
function checkAttempts({ stored }: LedgerEvidence, index: LedgerIndex, report: Report): void {
  const received = new Map<string, boolean>();
  for (const receipts of index.receipts.values())
    for (const { delivery, attempt, answer } of receipts) {
      const key = `${delivery} ${attempt}`;
      received.set(key, received.get(key) === true || answer === 'success');
    }
  const events = new Map(stored.events.map(({ position, id }) => [position, id]));
  const endpoints = new Map(stored.endpoints.map(({ number, id }) => [number, id]));
  for (const { event, endpoint, number, kind, status } of stored.attempts) {
    if (status === null) continue;
    const id = `${events.get(event)}-${endpoints.get(endpoint)}`;
    const isTaken = received.get(`${id} ${number}`);
    if (isTaken === undefined)
      report(`attempt ${number} of ${id} was answered with ${status}, and never received`);
    else if (kind === 'success' && !isTaken)
      report(`attempt ${number} of ${id} succeeded, and was not taken`);
  }
}

interface ReceivedAttempt {
  /** Of the delivery. */
  readonly id: string;
  readonly number: number;
  readonly receipts: readonly LedgerReceipt[];
}

/** Whether it had been received when a server died, and was not stored. */
function isInFlight({ id, number, receipts }: ReceivedAttempt, { lines, attempts }: Kill): boolean {
  return (receipts[0]?.line ?? lines) < lines && (attempts.get(id) ?? 0) < number;
}

/** Whether its instance was another node's before it could be stored. */
function isTakenOver({ receipts }: ReceivedAttempt, { takeovers }: LedgerEvidence): boolean {
  const [first] = receipts;
  return first !== undefined && takeovers.some((atMs) => atMs > first.atMs - attemptMsMax);
}

/** An attempt is received again when a server has died in between that had not stored it, or when the receiver has cut it off. */
function countRepeats(
  attempt: ReceivedAttempt,
  { kills, takeovers }: LedgerEvidence,
  { counts, report }: { readonly counts: Counts; readonly report: Report },
): void {
  const { id, number, receipts } = attempt;
  let mayResend = true;
  for (const [place, receipt] of receipts.entries()) {
    const before = receipts[place - 1];
    if (before === undefined) continue;
    const isKilled = kills.some(
      ({ lines, attempts }) =>
        before.line < lines && lines <= receipt.line && (attempts.get(id) ?? 0) < number,
    );
    // The request of the node before may be the later one to arrive.
    const isTaken = takeovers.some((atMs) => atMs > before.atMs - attemptMsMax && atMs <= receipt.atMs);
    if (isKilled || isTaken) {
      counts.duplicates += 1;
      mayResend = true;
    } else if (before.answer === 'cut' && mayResend) {
      counts.resent += 1;
      mayResend = false;
    } else
      report(`attempt ${number} of ${id} was received twice, in lines ${before.line} and ${receipt.line}`);
  }
}
