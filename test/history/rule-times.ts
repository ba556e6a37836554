import type { ChangingRule } from './collections.ts';
import { isDone, type Exchange } from './exchange.ts';

/** Reads may rest on definitions that are so old (design/engines.md); what this machine adds. */
const readLagMs = 1_000;
const slackMs = 250;

/** Which rules were in force when. */
export class RuleTimes {
  readonly #changes: readonly Exchange[];

  constructor(exchanges: readonly Exchange[]) {
    this.#changes = exchanges.filter((each) => each.operation.kind === 'rule' && isDone(each));
  }

  /** All that it can have been for a request. */
  possible(rule: ChangingRule, { startMs, endMs }: Exchange, isRead: boolean): ReadonlySet<string | null> {
    const fromMs = startMs - (isRead ? readLagMs + slackMs : 0);
    const found = new Set<string | null>();
    let current: { readonly value: string | null; readonly startMs: number } = { value: '', startMs: 0 };
    for (const { operation, ...change } of this.#changes) {
      if (operation.kind !== 'rule' || operation.rule !== rule) continue;
      if (current.startMs <= endMs && change.endMs >= fromMs) found.add(current.value);
      current = { value: operation.value, startMs: change.startMs };
    }
    if (current.startMs <= endMs) found.add(current.value);
    return found;
  }
}
