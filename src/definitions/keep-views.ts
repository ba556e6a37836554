import { AppError } from '../base/errors.ts';
import type { TableChange } from '../collections/alter-tables.ts';
import type { Collection } from '../collections/collection.ts';
import { inferView, type ViewReader } from '../collections/infer-view.ts';
import { inOrder, isShapeSame } from '../collections/views.ts';

/**
 * Returns the views whose fields change with the collections that they read, in their new form. Throws bad_request where a view could
 * no longer be made. `future` are all collections after the change, views in their old form.
 */
export function keepViews(
  failed: string,
  { before, future }: { readonly before: readonly Collection[]; readonly future: readonly Collection[] },
  reader: ViewReader,
): readonly TableChange[] {
  const old = new Map(before.map((one) => [one.id, one]));
  const all = new Map(future.map((one) => [one.id, one]));
  const isChanged = (id: string): boolean => {
    const [was, is] = [old.get(id), all.get(id)];
    return was === undefined || is === undefined || (was !== is && !isSameForViews(was, is));
  };
  const changes: TableChange[] = [];
  for (const view of inOrder(future.filter(({ type }) => type === 'view'))) {
    if (view.view === undefined || old.get(view.id) !== view || !view.view.reads.some(isChanged)) continue;
    const others = [...all.values()].filter(({ id }) => id !== view.id);
    const inferred = inferView(view.view.query, others, reader);
    if (typeof inferred === 'string')
      throw new AppError('bad_request', `${failed} The view ${view.name} reads it: ${inferred}.`);
    const after = { ...view, fields: inferred.fields, view: inferred.view };
    if (JSON.stringify([after.fields, after.view]) === JSON.stringify([view.fields, view.view])) continue;
    all.set(view.id, after);
    changes.push({ before: view, after });
  }
  return changes;
}

/** Options of a field are those of the view's, too. */
function isSameForViews(was: Collection, is: Collection): boolean {
  return isShapeSame(was, is) && JSON.stringify(was.fields) === JSON.stringify(is.fields);
}
