import { AppError } from '../base/errors.ts';
import type { TableChange } from '../collections/alter-tables.ts';
import type { Collection } from '../collections/collection.ts';
import { CollectionStore } from '../collections/collection-store.ts';
import { inferView, type ViewReader } from '../collections/infer-view.ts';
import { inOrder } from '../collections/views.ts';
import type { Database } from '../storage/database.ts';
import type { ViewQueries } from '../storage/view-query.ts';
import { withViews } from './view-descriptions.ts';

/**
 * Makes the views of an instance whose tables were filled by other means than its API. Their definitions were checked elsewhere, if at all:
 * queries are read again, on this engine. Throws bad_request where one is refused.
 */
export async function restoreViews(database: Database): Promise<void> {
  const collections = await CollectionStore.load(database);
  if (collections.all().every(({ type }) => type !== 'view')) return;
  await withViews(database, (reader) => {
    const { changed, refused } = inferAll(collections.all(), reader);
    requireViews(refused);
    return database.write((tx) => collections.remakeViews(tx, changed), { isExclusive: true });
  });
}

/** Throws bad_request with the names of all views that this engine would refuse. */
export async function requireViewsFit(
  database: ViewQueries,
  collections: readonly Collection[],
  instance: string,
): Promise<void> {
  if (collections.every(({ type }) => type !== 'view')) return;
  const { refused } = await withViews(database, (reader) => Promise.resolve(inferAll(collections, reader)));
  requireViews(refused, ` of ${instance}`);
}

function requireViews(refused: readonly string[], whose = ''): void {
  if (refused.length > 0)
    throw new AppError('bad_request', `Views${whose} cannot be made here: ${refused.join('; ')}.`);
}

function inferAll(
  collections: readonly Collection[],
  reader: ViewReader,
): { readonly changed: readonly TableChange[]; readonly refused: readonly string[] } {
  const all = new Map(collections.map((one) => [one.id, one]));
  const changed: TableChange[] = [];
  const refused: string[] = [];
  for (const before of inOrder(collections.filter(({ type }) => type === 'view'))) {
    const others = [...all.values()].filter(({ id }) => id !== before.id);
    const inferred = inferView(before.view?.query ?? '', others, reader);
    if (typeof inferred === 'string') {
      refused.push(`${before.name} (${inferred})`);
      continue;
    }
    const after = { ...before, fields: inferred.fields, view: inferred.view };
    all.set(before.id, after);
    changed.push({ before, after });
  }
  return { changed, refused };
}
