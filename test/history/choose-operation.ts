import type { Random } from '../faults/random.ts';
import {
  changingRules,
  collectionNames,
  idsOf,
  labelNames,
  tags,
  uniqueOf,
  uniqueValues,
  type ChangingRule,
  type CollectionName,
} from './collections.ts';
import {
  revisionOf,
  type Filter,
  type Intent,
  type ListAsked,
  type Operation,
  type Shown,
} from './exchange.ts';

export interface Chooser {
  readonly random: Random;
  /** A text that no other write has. */
  readonly newToken: () => string;
  /** The latest answers of records, by `collection/id`, whoever got them. */
  readonly shown: ReadonlyMap<string, Shown>;
}

export function chooseWrite(chooser: Chooser): Operation {
  const { random, newToken } = chooser;
  if (random.unit() < 0.3) return chooseCount(newToken());
  const key = random.unit() < 0.15 ? { key: newToken() } : {};
  if (random.unit() < 0.3) {
    const intents =
      random.unit() < 0.15
        ? chooseReplacement(chooser)
        : Array.from({ length: random.integer(1, 5) }, () => chooseIntent(chooser, true));
    return { kind: 'batch', intents, ...key };
  }
  return { kind: 'write', intents: [chooseIntent(chooser, false)], ...key };
}

/** All clients count on one record: most of them at the same time as another. */
function chooseCount(token: string): Operation {
  const [id = ''] = idsOf.posts;
  const body = { 'views+': 1, note: token };
  return { kind: 'write', intents: [{ kind: 'update', collection: 'posts', id, body, token }] };
}

export function chooseRead(chooser: Chooser): Operation {
  const { random, shown } = chooser;
  const collection = chooseCollection(random);
  if (random.unit() < 0.5) return { kind: 'list', ...chooseList(random, collection) };
  const id = pick(random, idsOf[collection]);
  const known = shown.get(`${collection}/${id}`);
  const chance = random.unit();
  if (chance < 0.15 && collection === 'comments') return { kind: 'view', collection, id, expand: 'post,by' };
  return { kind: 'view', collection, id, ...(chance < 0.5 && known !== undefined && { known }) };
}

/** All authors and posts. */
export function chooseFirst({ random, newToken }: Chooser): Operation {
  const intents = (['authors', 'posts'] as const).flatMap((collection) =>
    idsOf[collection].map((id, index): Intent => {
      const token = newToken();
      const unique = { [uniqueOf[collection] ?? '']: uniqueValues[index] };
      return {
        kind: 'create',
        collection,
        id,
        token,
        body: { ...wholeBody(random, collection), ...unique, id, note: token },
      };
    }),
  );
  return { kind: 'batch', intents };
}

/** What only a superuser may ask for. */
export function chooseChange(random: Random): Operation {
  const chance = random.unit();
  if (chance < 0.3) return { kind: 'rename' };
  if (chance < 0.5)
    return { kind: 'truncate', collection: chance < 0.45 ? 'comments' : chooseCollection(random) };
  // The keys of what the type is of.
  const rule = pick(random, Object.keys(changingRules) as ChangingRule[]);
  return { kind: 'rule', rule, value: pick<string | null>(random, changingRules[rule]) };
}

function chooseCollection(random: Random): CollectionName {
  const chance = random.unit();
  return chance < 0.2 ? 'authors' : chance < 0.6 ? 'posts' : 'comments';
}

function chooseIntent(chooser: Chooser, isInBatch: boolean): Intent {
  const { random, shown } = chooser;
  const collection = chooseCollection(random);
  const id = pick(random, idsOf[collection]);
  const latest = shown.get(`${collection}/${id}`);
  const kind = chooseKind(random, isInBatch, latest !== undefined);
  const mayExpect = kind === 'update' || kind === 'delete';
  const expected =
    mayExpect && latest !== undefined && random.unit() < 0.3 ? { expected: revisionOf(latest.etag) } : {};
  if (kind === 'delete') return { kind, collection, id, body: {}, ...expected };
  if (kind === 'update' && collection === 'posts' && random.unit() < 0.15)
    return { kind, collection, id, body: chooseLabels(chooser, latest), ...expected };
  const token = chooser.newToken();
  const values = kind === 'create' || (kind === 'upsert' && random.unit() < 0.8);
  const body = { ...(values ? wholeBody(random, collection) : changes(random, collection)), note: token };
  return { kind, collection, id, body: kind === 'update' ? body : { ...body, id }, token, ...expected };
}

/** A record that is deleted and made anew: to all others it is there all the time. */
function chooseReplacement({ random, newToken }: Chooser): readonly Intent[] {
  const collection = chooseCollection(random);
  const id = pick(random, idsOf[collection]);
  const token = newToken();
  const body = { ...wholeBody(random, collection), id, note: token };
  return [
    { kind: 'delete', collection, id, body: {} },
    { kind: 'create', collection, id, body, token },
  ];
}

/** Mostly what will be done, if nobody else is faster. */
function chooseKind(random: Random, isInBatch: boolean, isThere: boolean): Intent['kind'] {
  const chance = random.unit();
  if (isInBatch && chance < 0.35) return 'upsert';
  const isMeant = random.unit() < 0.95;
  if (isThere !== isMeant) return 'create';
  return chance > 0.88 ? 'delete' : 'update';
}

/** What the post had at last, or something else; under both names, of which one is unknown. */
function chooseLabels({ random }: Chooser, latest: Shown | undefined): Readonly<Record<string, unknown>> {
  const value = random.unit() < 0.6 ? (latest?.values['label'] ?? 'x') : pick(random, uniqueValues);
  return Object.fromEntries(labelNames.map((name) => [name, value]));
}

function wholeBody(random: Random, collection: CollectionName): Readonly<Record<string, unknown>> {
  switch (collection) {
    case 'authors':
      return { name: pick(random, uniqueValues) };
    case 'posts':
      return {
        slug: pick(random, uniqueValues),
        author: pick(random, idsOf.authors),
        views: random.integer(0, 5),
        tags: tags.filter(() => random.unit() < 0.5),
        open: random.unit() < 0.7,
      };
    default:
      return {
        post: pick(random, idsOf.posts),
        by: idsOf.authors.filter(() => random.unit() < 0.4),
      };
  }
}

function changes(random: Random, collection: CollectionName): Readonly<Record<string, unknown>> {
  const whole = wholeBody(random, collection);
  const chance = random.unit();
  if (collection === 'posts' && chance < 0.6) {
    if (chance < 0.3) return { 'views+': random.integer(1, 3) };
    if (chance < 0.4) return { 'views-': random.integer(1, 3) };
    return { [chance < 0.5 ? 'tags-' : 'tags+']: pick(random, tags) };
  }
  if (collection === 'comments' && chance < 0.5)
    return { [chance < 0.25 ? 'by-' : 'by+']: pick(random, idsOf.authors) };
  return Object.fromEntries(Object.entries(whole).filter(() => random.unit() < 0.4));
}

const isOpen: Filter = { text: 'open = true', admits: ({ open }) => open === true };
const isSeen: Filter = { text: 'views >= 3', admits: ({ views }) => Number(views) >= 3 };
const isByFirst: Filter = {
  text: `by ~ "${idsOf.authors[0] ?? ''}"`,
  // The ids of a relation to several.
  admits: ({ by }) => (by as readonly string[]).includes(idsOf.authors[0] ?? ''),
};

/** Few different ones, so that what was asked for before is asked for again. */
function chooseList(random: Random, collection: CollectionName): ListAsked {
  const whole = 'perPage=200';
  const filter = collection === 'posts' ? pick(random, [isOpen, isSeen]) : isByFirst;
  switch (random.integer(0, 5)) {
    case 0:
      return { collection, query: `${whole}&sort=-note`, isWhole: true };
    case 1:
      return { collection, query: `${whole}&skipTotal=1`, isWhole: true };
    case 2:
      return { collection, query: 'perPage=2&page=1', isWhole: false };
    case 3:
      return { collection, query: `${whole}&fields=id,note`, isWhole: true };
    case 4:
      if (collection === 'authors') return { collection, query: 'perPage=1&page=2', isWhole: false };
      return {
        collection,
        query: `${whole}&filter=${encodeURIComponent(filter.text)}`,
        filter,
        isWhole: true,
      };
    default:
      return { collection, query: whole, isWhole: true };
  }
}

export function chooseWalk(random: Random): ListAsked {
  return { collection: pick(random, collectionNames), query: 'perPage=2&cursor=', isWhole: false };
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = random.pick(items);
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
}
