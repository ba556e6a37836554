import type { State } from './chains.ts';
import { referredBy } from './referred-by.ts';
import { idsOf, uniqueOf, type CollectionName } from './collections.ts';
import type { Exchange, Intent } from './exchange.ts';
import type { Report } from './evidence.ts';
import type { Scene } from './observations.ts';
import type { Timeline } from './timeline.ts';

interface Judging {
  readonly scene: Scene;
  readonly timeline: Timeline;
  readonly report: Report;
}

/** Whoever was refused was refused for something that was so while they asked. */
export function checkRefusals(exchanges: readonly Exchange[], judging: Judging): void {
  for (const exchange of exchanges) {
    const { operation, status, json } = exchange;
    if (operation.kind === 'batch' && status === 400) checkBatch(exchange, judging.report);
    if (operation.kind === 'view' && status === 403) checkViewRule(exchange, judging);
    if (operation.kind === 'view' && status === 200) checkViewRule(exchange, judging);
    if (operation.kind !== 'write') continue;
    const [intent] = operation.intents;
    checkUpdateRule(exchange, intent, judging);
    if (status !== 400) continue;
    if (!mayBeRefused(exchange, intent, judging.timeline))
      judging.report(`refused for nothing: ${JSON.stringify(intent)}: ${JSON.stringify(json)}`);
  }
}

/** An upsert makes what is not there. */
function checkBatch({ operation, json }: Exchange, report: Report): void {
  if (operation.kind !== 'batch') return;
  // As docs/records.md has it.
  const { data } = json as {
    readonly data: {
      readonly requests?: Readonly<Record<string, { readonly response: { readonly status: number } }>>;
    };
  };
  for (const [index, { response }] of Object.entries(data.requests ?? {})) {
    const intent = operation.intents[Number(index)];
    const isExpected = [400, 403, 404, 412].includes(response.status);
    if (
      !isExpected ||
      (intent?.kind === 'upsert' && response.status === 404 && intent.collection !== 'comments')
    )
      report(`${response.status} of an item ${JSON.stringify(intent)}: ${JSON.stringify(response)}`);
  }
}

function checkViewRule(exchange: Exchange, { scene, report }: Judging): void {
  const { operation, isSuperuser, status } = exchange;
  if (operation.kind !== 'view') return;
  const isClosed = operation.collection === 'posts' && !isSuperuser;
  const rules = isClosed ? scene.rules.possible('posts.viewRule', exchange, true) : new Set(['']);
  if (!rules.has(status === 403 ? null : ''))
    report(`${status} by a view rule that was ${[...rules].join()}: ${JSON.stringify(operation)}`);
}

function checkUpdateRule(exchange: Exchange, intent: Intent, { scene, timeline, report }: Judging): void {
  const { status, isSuperuser, isReplayed } = exchange;
  const { kind, collection, id } = intent;
  const isRuled = collection === 'comments' && kind === 'update' && !isSuperuser;
  const rules: ReadonlySet<string | null> = isRuled
    ? scene.rules.possible('comments.updateRule', exchange, false)
    : new Set(['']);
  const say = (): void =>
    report(`${status} by a rule that was ${[...rules].map(String).join()}: ${JSON.stringify(intent)}`);
  if (status === 403) return rules.has(null) ? undefined : say();
  if ([...rules].every((rule) => rule === null)) return say();
  if (status !== 200 || isReplayed || rules.has('')) return;
  // Asked of the record as it was before.
  const posts = new Set(
    timeline.during(`comments/${id}`, exchange).map(({ values }) => String(values?.['post'])),
  );
  const wasOpen = [...posts].some((post) =>
    timeline.during(`posts/${post}`, exchange).some(({ values }) => values?.['open'] === true),
  );
  if (!wasOpen) say();
}

function mayBeRefused(
  exchange: Exchange,
  { kind, collection, id, body }: Intent,
  timeline: Timeline,
): boolean {
  const during = (of: CollectionName, other: string): readonly State[] =>
    timeline.during(`${of}/${other}`, exchange);
  if (kind === 'delete')
    return (
      idsOf.posts.some((post) => during('posts', post).some(({ values }) => values?.['author'] === id)) &&
      collection === 'authors'
    );
  if (kind === 'create' && during(collection, id).some(({ values }) => values !== undefined)) return true;
  const field = uniqueOf[collection];
  const value = field === undefined ? undefined : (body[field] ?? (kind === 'create' ? '' : undefined));
  const isTaken = (other: string): boolean =>
    other !== id && during(collection, other).some(({ values }) => values?.[field ?? ''] === value);
  if (value !== undefined && idsOf[collection].some(isTaken)) return true;
  return referredBy(body).some((key) =>
    timeline.during(key, exchange).some(({ values }) => values === undefined),
  );
}
