import type { State } from './chains.ts';
import { idsOf, uniqueOf } from './collections.ts';
import { isDone, itemsOf, type Exchange, type Walk } from './exchange.ts';
import type { Report } from './evidence.ts';
import { showsAll, type Observation, type Scene } from './observations.ts';
import type { Timeline } from './timeline.ts';

/** Every answer tells of what was there while it was asked for: of nothing older, on any node. */
export function checkReads(timeline: Timeline, scene: Scene, report: Report): void {
  for (const observation of timeline.observations) checkObservation(observation, { timeline, scene, report });
  const lists = new Set(
    timeline.observations
      .map(({ exchange }) => exchange)
      .filter(({ operation }) => operation.kind === 'list'),
  );
  for (const exchange of lists) {
    checkTotal(exchange, { timeline, scene, report });
    checkUnique(exchange, report);
  }
}

interface Reading {
  readonly timeline: Timeline;
  readonly scene: Scene;
  readonly report: Report;
}

function checkObservation(
  { key, exchange, candidates, isWrite, what }: Observation,
  { timeline, scene, report }: Reading,
): void {
  const [first, last] = timeline.range(key, exchange);
  // Whoever is told of an older state after a write is told of in a line of their own.
  if (
    isWrite
      ? candidates.some((index) => index > first)
      : candidates.some((index) => index >= first && index <= last)
  )
    return;
  const chain = scene.chains.get(key) ?? [];
  const could = chain.slice(first, last + 1).map(({ values }) => JSON.stringify(values));
  const { operation, node, startMs, endMs } = exchange;
  report(
    `${key}: ${what} is of states ${candidates.join()} and not ${first} to ${last}, by ${operation.kind} on node ${node} ` +
      `from ${startMs.toFixed(1)} to ${endMs.toFixed(1)}; could be ${could.join(' or ').slice(0, 600)}`,
  );
}

/** Of all that a filter leaves, as many as there can have been. */
function checkTotal(exchange: Exchange, { timeline, scene, report }: Reading): void {
  const { operation } = exchange;
  if (operation.kind !== 'list' || !showsAll(exchange, operation.collection, scene)) return;
  // As docs/lists.md has it.
  const { totalItems } = exchange.json as { readonly totalItems?: number };
  if (totalItems === undefined || totalItems === -1) return;
  const { filter, collection, isWhole } = operation;
  if (isWhole && totalItems !== itemsOf(exchange).length)
    report(`a total of ${totalItems} for ${itemsOf(exchange).length} records: ${operation.query}`);
  const isIn = ({ values }: State): boolean => values !== undefined && filter?.admits(values) !== false;
  const possible = idsOf[collection].map((id) => timeline.during(`${collection}/${id}`, exchange));
  const least = possible.filter((states) => states.length > 0 && states.every(isIn)).length;
  const most = possible.filter((states) => states.some(isIn)).length;
  if (totalItems < least || totalItems > most)
    report(
      `a total of ${totalItems} of ${collection} where there were ${least} to ${most}: ${operation.query} on node ${exchange.node} at ${exchange.startMs.toFixed(1)}`,
    );
}

function checkUnique(exchange: Exchange, report: Report): void {
  const { operation } = exchange;
  if (operation.kind !== 'list') return;
  const field = uniqueOf[operation.collection];
  for (const name of field === undefined ? ['id'] : ['id', field]) {
    const values = itemsOf(exchange).flatMap((item) => (name in item ? [item[name]] : []));
    if (new Set(values).size < values.length)
      report(`${name} is not unique in a list: ${JSON.stringify(values)}`);
  }
}

/** What was there all the time is shown once to who follows a cursor. */
export function checkWalks(walks: readonly Walk[], reading: Reading): void {
  for (const { collection, pages } of walks) {
    const [first, last] = [pages[0], pages.at(-1)];
    if (first === undefined || last === undefined || !pages.every(isDone)) continue;
    const times = new Map<string, number>();
    for (const { id } of pages.flatMap((page) => itemsOf(page)))
      times.set(String(id), (times.get(String(id)) ?? 0) + 1);
    for (const id of idsOf[collection]) {
      const [from, to] = reading.timeline.range(`${collection}/${id}`, {
        startMs: first.startMs,
        endMs: last.endMs,
      });
      // One that was deleted and made anew has another place.
      const states = reading.scene.chains.get(`${collection}/${id}`)?.slice(from, to + 1) ?? [];
      const isSteady = states.every(({ values }) => values !== undefined);
      const count = times.get(id) ?? 0;
      const isLeftOut = count === 0 && pages.every((page) => showsAll(page, collection, reading.scene));
      if (isSteady && (isLeftOut || count > 1))
        reading.report(
          `${collection}/${id} was there all the time and is shown ${count} times behind cursors`,
        );
    }
  }
}
