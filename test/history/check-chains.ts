import { isDeepStrictEqual } from 'node:util';
import { applyIntent } from './apply-intent.ts';
import { keyOf, type Chains, type State, type StoredEvent } from './chains.ts';
import { isDone, type Exchange, type Intent, type Values } from './exchange.ts';
import type { Report } from './evidence.ts';

interface Asked {
  readonly intent: Intent;
  readonly exchanges: Exchange[];
}

interface Log {
  readonly chains: Chains;
  readonly exchanges: readonly Exchange[];
  readonly report: Report;
}

/**
 * Each record's events are what acknowledged writes made of it, one after the other: revisions without a gap, every write once, and
 * of what was refused nothing.
 */
export function checkChains({ chains, exchanges, report }: Log): void {
  const asked = askedByToken(exchanges);
  const found = new Map<string, number>();
  for (const [key, chain] of chains) {
    for (const [index, state] of chain.entries()) {
      const before = chain[index - 1];
      if (before === undefined) continue;
      const say = (text: string): void =>
        report(
          `${key}: ${text} at ${state.event?.position}: ${JSON.stringify(before.values)} → ${JSON.stringify(state.event?.values)}`,
        );
      checkStep(before, state, say);
      if (state.token !== undefined) found.set(state.token, (found.get(state.token) ?? 0) + 1);
      checkCause(before, state, { asked, chains, say });
    }
  }
  for (const [token, { intent, exchanges }] of asked) {
    const times = found.get(token) ?? 0;
    const isKept = exchanges.some(isDone);
    if (times !== (isKept ? 1 : 0))
      report(`${intent.kind} ${token} was answered ${statuses(exchanges)} and is ${times} times in the log`);
  }
  for (const token of found.keys())
    if (!asked.has(token)) report(`${token} is in the log, and nobody wrote it`);
}

function statuses(exchanges: readonly Exchange[]): string {
  return exchanges.map(({ status }) => status).join();
}

function askedByToken(exchanges: readonly Exchange[]): ReadonlyMap<string, Asked> {
  const asked = new Map<string, Asked>();
  for (const exchange of exchanges) {
    const { operation } = exchange;
    if (operation.kind !== 'write' && operation.kind !== 'batch') continue;
    for (const intent of operation.intents) {
      if (intent.token === undefined) continue;
      const known = asked.get(intent.token);
      if (known === undefined) asked.set(intent.token, { intent, exchanges: [exchange] });
      else known.exchanges.push(exchange);
    }
  }
  return asked;
}

function checkStep(before: State, { event }: State, say: Report): void {
  if (event === undefined) return say('a state without an event');
  const isThere = before.values !== undefined;
  if ((event.kind === 'record.create') === isThere)
    say(`${event.kind} where it is ${isThere ? '' : 'not '}there`);
  if (
    event.revision !==
    (before.event === undefined || before.event.kind === 'record.delete' ? 1 : before.revision + 1)
  )
    say(`revision ${event.revision} behind ${before.revision}`);
  if (event.kind === 'record.delete' && !isDeepStrictEqual(event.values, before.values))
    say('a delete that tells of another state');
  if (before.values === undefined) return;
  if (event.values['created'] !== before.values['created']) say('another created');
  if (String(event.values['updated']) < String(before.values['updated'])) say('an earlier updated');
}

interface Causes {
  readonly asked: ReadonlyMap<string, Asked>;
  readonly chains: Chains;
  readonly say: Report;
}

/** The write that the state names has made it, of the state before; or it is what a delete elsewhere leaves, or a change of a label alone. */
function checkCause(before: State, state: State, { asked, chains, say }: Causes): void {
  const { event, token, values } = state;
  if (event === undefined || values === undefined) return;
  if (token === undefined) {
    const changed = Object.keys(values).filter(
      (name) => name !== 'updated' && !isDeepStrictEqual(values[name], before.values?.[name]),
    );
    if (changed.join() === 'label') return;
    if (changed.join() !== 'by' || !isReduced(before.values ?? {}, event, chains))
      say(`${changed.join()} changed by nobody`);
    return;
  }
  const write = asked.get(token);
  if (write === undefined) return;
  if (keyOf(event) !== `${write.intent.collection}/${write.intent.id}`)
    return say(`${token} was meant for another`);
  const { created: _created, updated: _updated, ...stored } = values;
  const { created: _before, updated: _last, ...expected } = applyIntent(write.intent, before.values);
  if (!isDeepStrictEqual(sorted(stored), sorted(expected))) say(`expected ${JSON.stringify(expected)}`);
  const { expected: revision } = write.intent;
  if (revision !== undefined && before.revision !== revision)
    say(`written over ${before.revision}, not ${revision}`);
}

/** By one id, of an author whose next event is the delete. */
function isReduced(before: Values, event: StoredEvent, chains: Chains): boolean {
  // Ids of a relation to several.
  const [had, has] = [before['by'] as readonly string[], event.values['by'] as readonly string[]];
  const [gone, ...others] = had.filter((id) => !has.includes(id));
  if (gone === undefined || others.length > 0 || has.length !== had.length - 1) return false;
  return isNextDelete(chains.get(`authors/${gone}`), event);
}

export function isNextDelete(chain: readonly State[] = [], { position }: StoredEvent): boolean {
  const next = chain.find(({ event }) => event !== undefined && event.position > position);
  return next?.event?.kind === 'record.delete';
}

function sorted(values: Values): Values {
  return Object.fromEntries(Object.entries(values).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
