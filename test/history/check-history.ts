import { checkAnswers, checkBusy, isBusy } from './check-answers.ts';
import { checkBatches } from './check-batches.ts';
import { checkChains } from './check-chains.ts';
import { checkDeletes } from './check-deletes.ts';
import { checkDeliveries } from './check-deliveries.ts';
import { checkReads, checkWalks } from './check-reads.ts';
import { checkRecords } from './check-records.ts';
import { checkRefusals } from './check-refusals.ts';
import { toChains } from './chains.ts';
import { collectionNames, idsOf } from './collections.ts';
import type { Evidence } from './evidence.ts';
import { insideBatches } from './inside-batches.ts';
import { RuleTimes } from './rule-times.ts';
import { Timeline } from './timeline.ts';

/** Holds all that clients were answered, and receivers told, against what the documents promise. */
export function checkHistory(evidence: Evidence): readonly string[] {
  const { history, events, log } = evidence;
  const violations: string[] = [];
  const report = (text: string): void => void violations.push(text);
  const keys = collectionNames.flatMap((collection) => idsOf[collection].map((id) => `${collection}/${id}`));
  const chains = toChains(events, keys);
  const { exchanges } = history;
  const isOfBusy = (line: string): boolean =>
    /QueryTimeout|Busy|answered 503/.test(line) && exchanges.some(isBusy);
  for (const line of log) if (!isOfBusy(line)) report(line);
  const scene = { chains, inside: insideBatches(chains, exchanges), rules: new RuleTimes(exchanges) };
  const timeline = new Timeline(exchanges, scene);
  checkAnswers(chains, exchanges, report);
  checkBusy(evidence.engine, exchanges, report);
  checkChains({ chains, exchanges, report });
  checkDeletes(chains, exchanges, report);
  checkReads(timeline, scene, report);
  checkWalks(history.walks, { timeline, scene, report });
  checkBatches(timeline.observations, chains, report);
  checkRefusals(exchanges, { timeline, scene, report });
  checkRecords(evidence, chains, report);
  checkDeliveries(evidence, report);
  return violations;
}
