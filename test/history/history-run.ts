import { checkHistory } from './check-history.ts';
import { collectHistory, type HistoryOptions } from './collect-history.ts';
import type { History } from './exchange.ts';

export interface HistoryRunResult {
  readonly violations: readonly string[];
  readonly events: number;
  /** How often what was answered how, as `write 201`. */
  readonly answers: Readonly<Record<string, number>>;
  readonly slowest: readonly string[];
}

const slowestCount = 3;
const shownMax = 120;

/** Collects a history, and holds it against the promises. */
export async function historyRun(options: HistoryOptions): Promise<HistoryRunResult> {
  const evidence = await collectHistory(options);
  const { history, events } = evidence;
  const answers: Record<string, number> = {};
  for (const { operation, status } of history.exchanges) {
    const name = `${operation.kind} ${status}`;
    answers[name] = (answers[name] ?? 0) + 1;
  }
  return { violations: checkHistory(evidence), events: events.length, answers, slowest: slowestOf(history) };
}

function slowestOf({ exchanges }: History): readonly string[] {
  return exchanges
    .toSorted((one, other) => other.endMs - other.startMs - (one.endMs - one.startMs))
    .slice(0, slowestCount)
    .map(
      ({ startMs, endMs, status, operation }) =>
        `${(endMs - startMs).toFixed(0)} ms, ${status}: ${JSON.stringify(operation).slice(0, shownMax)}`,
    );
}
