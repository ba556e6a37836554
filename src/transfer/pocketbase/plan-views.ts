import { toTimestamp } from '../../base/timestamp.ts';
import { type Collection, collectionLimits, ruleNames } from '../../collections/collection.ts';
import { CollectionNames } from '../../collections/collection-names.ts';
import { decodeCollection } from '../../collections/decode-collection.ts';
import type { ViewReader } from '../../collections/infer-view.ts';
import { ProblemList } from '../../collections/member-reader.ts';
import { checkRules } from '../../definitions/check-rules.ts';
import { withViews } from '../../definitions/view-descriptions.ts';
import { collectionsOf } from '../../query/record-scope.ts';
import type { PlanOptions } from './plan-import.ts';
import type { SourceCollection } from './pocketbase-source.ts';

type ViewPlanOptions = Pick<PlanOptions, 'instance' | 'omissions'>;

/**
 * Returns the views of the source whose queries can be views here, each after those that it reads. `tables` are all other collections as they
 * will be. Views that are left out are reported with the reason.
 */
export async function planViews(
  sources: readonly SourceCollection[],
  tables: readonly Collection[],
  options: ViewPlanOptions,
): Promise<readonly Collection[]> {
  const { instance, omissions } = options;
  const sourceViews = sources.filter(({ type }) => type === 'view');
  if (sourceViews.length === 0) return [];
  const { views, refused } = await withViews(instance.database, (reader) =>
    Promise.resolve(planAll(sourceViews, tables, { reader, now: toTimestamp(instance.clock.now()) })),
  );
  for (const [name, why] of refused) omissions.add({ of: name, what: 'the collection', why });
  const collections = collectionsOf([...tables, ...views]);
  return views.map((view) => withFittingRules(view, collections, options));
}

interface ViewPlan {
  readonly views: readonly Collection[];
  /** Why, by name. */
  readonly refused: ReadonlyMap<string, string>;
}

function planAll(
  sources: readonly SourceCollection[],
  tables: readonly Collection[],
  { reader, now }: { readonly reader: ViewReader; readonly now: string },
): ViewPlan {
  const views: Collection[] = [];
  const refused = new Map<string, string>();
  let waiting = sources;
  // A view may read another one: as long as any was made, those that were refused may be next.
  for (let count = -1; views.length > count;) {
    count = views.length;
    const again: SourceCollection[] = [];
    for (const source of waiting) {
      const view = planView(source, [...tables, ...views], { reader, now });
      if (typeof view !== 'string') views.push(view);
      else again.push(source);
      if (typeof view === 'string') refused.set(source.name, view);
      else refused.delete(source.name);
    }
    waiting = again;
  }
  return { views, refused };
}

function planView(
  { id, name, definition }: SourceCollection,
  collections: readonly Collection[],
  { reader, now }: { readonly reader: ViewReader; readonly now: string },
): Collection | string {
  if (collections.length >= collectionLimits.collectionsMax) return 'There are too many collections.';
  const { viewQuery, listRule, viewRule } = definition;
  const problems = new ProblemList();
  // The records are not here yet: the source has checked their ids.
  const views = { ...reader, idProblem: () => undefined, collections };
  const raw = { id, name, type: 'view', viewQuery, listRule, viewRule };
  const view = decodeCollection(raw, { names: new CollectionNames(collections), now, views }, problems);
  const [problem] = Object.values(problems.toErrors());
  if (problem === undefined) return view;
  return typeof problem.message === 'string' ? problem.message : 'Its definition cannot be used here.';
}

function withFittingRules(
  view: Collection,
  collections: ReturnType<typeof collectionsOf>,
  { instance, omissions }: ViewPlanOptions,
): Collection {
  const problems = new ProblemList();
  checkRules(view, { collections, names: instance.database.names }, problems);
  const rules = { ...view.rules };
  const errors = problems.toErrors();
  for (const name of ruleNames) {
    const message = errors[name]?.message;
    if (errors[name] === undefined) continue;
    rules[name] = null;
    omissions.add({
      of: view.name,
      what: name,
      why: typeof message === 'string' ? message : 'It does not compile.',
    });
  }
  return { ...view, rules };
}
