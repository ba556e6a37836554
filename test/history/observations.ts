import { isLike, type Chains, type State } from './chains.ts';
import { idsOf, type CollectionName } from './collections.ts';
import {
  isDone,
  isDuring,
  itemsOf,
  revisionOf,
  toValues,
  type Exchange,
  type Intent,
  type ListAsked,
  type Values,
} from './exchange.ts';
import type { RuleTimes } from './rule-times.ts';

/** What a request tells of a record: that it was in one of these states between its start and its end. */
export interface Observation {
  readonly key: string;
  readonly exchange: Exchange;
  /** Indexes of states. */
  readonly candidates: readonly number[];
  /** Whether the request has made that state. */
  readonly isWrite: boolean;
  readonly what: string;
}

export interface Scene {
  readonly chains: Chains;
  /** States that nobody but the batch that made them can have met. */
  readonly inside: ReadonlySet<State>;
  readonly rules: RuleTimes;
}

/** All that an answer tells of records. */
export function observe(exchange: Exchange, scene: Scene): readonly Observation[] {
  const { operation } = exchange;
  if (exchange.isReplayed) return [];
  switch (operation.kind) {
    case 'write':
      return observeWrite(exchange, operation.intents[0], scene);
    case 'batch':
      return isDone(exchange)
        ? operation.intents.flatMap((intent) => observeDone(exchange, intent, scene))
        : [];
    case 'view':
      return observeView(exchange, operation, scene);
    case 'list':
      return exchange.status === 200 ? observeList(exchange, operation, scene) : [];
    case 'truncate':
    case 'rule':
    case 'rename':
      return [];
    default:
      return operation satisfies never;
  }
}

function observeWrite(exchange: Exchange, intent: Intent, scene: Scene): readonly Observation[] {
  if (isDone(exchange)) return observeDone(exchange, intent, scene);
  const { collection, id, expected } = intent;
  const key = `${collection}/${id}`;
  const mayBeHidden =
    !exchange.isSuperuser &&
    intent.kind === 'update' &&
    collection === 'comments' &&
    [...scene.rules.possible('comments.updateRule', exchange, false)].join() !== '';
  const isMissing = exchange.status === 404 && !mayBeHidden;
  if (isMissing)
    return [
      see(exchange, key, { scene, what: '404 of a write', isSo: (state) => state.values === undefined }),
    ];
  if (exchange.status !== 412) return [];
  const isSo = (state: State): boolean => state.values !== undefined && state.revision !== expected;
  return [see(exchange, key, { scene, what: `412 instead of ${expected}`, isSo })];
}

function observeDone(exchange: Exchange, intent: Intent, scene: Scene): readonly Observation[] {
  const { collection, id, kind, token } = intent;
  const key = `${collection}/${id}`;
  if (kind === 'delete') {
    const isSo = ({ event }: State): boolean => event?.kind === 'record.delete' && isDuring(exchange, event);
    return [see(exchange, key, { scene, what: 'a delete', isWrite: true, isSo })];
  }
  if (token !== undefined) {
    const isSo = (state: State): boolean => state.token === token;
    return [see(exchange, key, { scene, what: `${kind} ${token}`, isWrite: true, isSo })];
  }
  if (exchange.operation.kind === 'batch') return [];
  // A record, as docs/records.md has it.
  const shown = toValues(exchange.json as Values);
  const isSo = (state: State): boolean =>
    state.revision === revisionOf(exchange.etag) && isLike(state, shown);
  return [see(exchange, key, { scene, what: 'an update that may change nothing', isSo })];
}

function observeView(
  exchange: Exchange,
  operation: Extract<Exchange['operation'], { readonly kind: 'view' }>,
  scene: Scene,
): readonly Observation[] {
  const { collection, id, known } = operation;
  const key = `${collection}/${id}`;
  if (exchange.status === 404)
    return [
      see(exchange, key, { scene, what: '404 of a view', isSo: (state) => state.values === undefined }),
    ];
  if (exchange.status !== 200 && exchange.status !== 304) return [];
  // A record, as docs/lists.md has it.
  const json = exchange.status === 304 ? undefined : (exchange.json as Values);
  const shown = json === undefined ? known?.values : toValues(json);
  const isSo = (state: State): boolean =>
    (exchange.etag === '' || state.revision === revisionOf(exchange.etag)) && isLike(state, shown ?? {});
  const own = see(exchange, key, {
    scene,
    what: `a view with ${exchange.status}: ${JSON.stringify(shown)}`,
    isSo,
  });
  const expanded = json?.['expand'];
  return expanded === undefined ? [own] : [own, ...observeExpanded(exchange, expanded, scene)];
}

function observeExpanded(exchange: Exchange, expanded: unknown, scene: Scene): readonly Observation[] {
  // As docs/lists.md has it: an object for a single relation, a list for several.
  const { post, by = [] } = expanded as { readonly post?: Values; readonly by?: readonly Values[] };
  const of = (collection: CollectionName, shown: Values): Observation =>
    see(exchange, `${collection}/${String(shown['id'])}`, {
      scene,
      what: `expanded: ${JSON.stringify(shown)}`,
      isSo: (state) => isLike(state, toValues(shown)),
    });
  return [...(post === undefined ? [] : [of('posts', post)]), ...by.map((author) => of('authors', author))];
}

function observeList(
  exchange: Exchange,
  { collection, filter, isWhole, query }: ListAsked,
  scene: Scene,
): readonly Observation[] {
  const items = itemsOf(exchange);
  const shown = items.map((item) =>
    see(exchange, `${collection}/${String(item['id'])}`, {
      scene,
      what: `in a list ?${query}: ${JSON.stringify(toValues(item))}`,
      isSo: (state) => isLike(state, toValues(item)) && filter?.admits(state.values ?? {}) !== false,
    }),
  );
  if (!isWhole || !showsAll(exchange, collection, scene)) return shown;
  const there = new Set(items.map(({ id }) => id));
  const missing = idsOf[collection].filter((id) => !there.has(id));
  const isLeftOut = ({ values }: State): boolean => values === undefined || filter?.admits(values) === false;
  return [
    ...shown,
    ...missing.map((id) =>
      see(exchange, `${collection}/${id}`, { scene, what: `missing in a list ?${query}`, isSo: isLeftOut }),
    ),
  ];
}

/** Whether no rule can have left anything out. */
export function showsAll(exchange: Exchange, collection: CollectionName, { rules }: Scene): boolean {
  if (exchange.isSuperuser || collection !== 'comments') return true;
  return [...rules.possible('comments.listRule', exchange, true)].join() === '';
}

interface Seeing {
  readonly scene: Scene;
  readonly what: string;
  readonly isWrite?: boolean;
  readonly isSo: (state: State) => boolean;
}

function see(exchange: Exchange, key: string, { scene, what, isWrite = false, isSo }: Seeing): Observation {
  const chain = scene.chains.get(key) ?? [];
  const candidates = chain.filter((state) => isSo(state) && (isWrite || !scene.inside.has(state)));
  return { key, exchange, candidates: candidates.map(({ index }) => index), isWrite, what };
}
