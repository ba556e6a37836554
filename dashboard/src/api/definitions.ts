import { queryOptions } from '@tanstack/react-query';
import { call, type Collection, type Field } from './client.ts';
import { membersOf } from './members-of.ts';
import type { Schemas } from './schema.ts';

/** What new collections start from, by type. */
export const scaffoldsQuery = queryOptions({
  queryKey: ['scaffolds'],
  queryFn: async ({ signal }) => call('GET /api/collections/meta/scaffolds', { signal }),
  staleTime: Infinity,
});

/** Whether a rule would be accepted in a collection, which need not be saved, and where it is wrong. */
export function ruleCheckQuery(definition: CollectionInput, rule: string) {
  return queryOptions({
    queryKey: ['rule-check', definition, rule],
    queryFn: async ({ signal }) =>
      call('POST /api/collections/meta/dry-run-rule', { body: { definition, rule }, signal }),
    retry: false,
  });
}

/** `sqlite` or `postgres`: what a change costs differs. */
export const engineQuery = queryOptions({
  queryKey: ['health', 'engine'],
  queryFn: async ({ signal }) => (await call('GET /api/health', { signal })).data.engine,
  staleTime: Infinity,
});

export type CollectionInput = Schemas['CollectionInput'];

/** A definition as it is stored, and as it would be. `undefined` where nothing would change. */
export interface DefinitionChange {
  readonly before: Collection;
  readonly after: Collection;
}

/**
 * Returns what saving this definition would change, without changing anything. A plan keeps the fields that a definition leaves out; so
 * those to drop are in it under names that nothing can refer to, and are taken out of its answer. Throws Failure with the problems of the
 * definition at their places.
 */
export async function planChange(
  input: CollectionInput,
  dropped: readonly Field[],
): Promise<DefinitionChange | undefined> {
  const leaving = dropped.map((field, index) => ({ ...field, name: `dropped_${index}_${field.id}` }));
  const body = { collections: [{ ...input, fields: [...(input.fields ?? []), ...leaving] }] };
  const { changed } = await call('POST /api/collections/import/plan', { body });
  const change = changed.find(({ before }) => before.id === input.id);
  if (change === undefined) return undefined;
  const { before, after } = change;
  const fields = after.fields.filter(({ id }) => !dropped.some((field) => field.id === id));
  return { before, after: { ...after, fields } };
}

export async function createCollection(input: CollectionInput): Promise<Collection> {
  return call('POST /api/collections', { body: input });
}

export async function changeCollection(id: string, input: CollectionInput): Promise<Collection> {
  return call('PATCH /api/collections/{collection}', { path: { collection: id }, body: input });
}

export async function deleteCollection(id: string): Promise<void> {
  await call('DELETE /api/collections/{collection}', { path: { collection: id } });
}

/** How many records of a collection the filter selects; an empty one selects all. */
export async function countRecords(collection: string, filter: string): Promise<number> {
  const query = { perPage: 1, fields: 'id', ...(filter !== '' && { filter }) };
  const page = await call('GET /api/collections/{collection}/records', { path: { collection }, query });
  return 'totalItems' in page ? page.totalItems : 0;
}

export type RuleTest = Schemas['RuleTest'];
export type RuleVerdict = Omit<Schemas['RuleDryRun'], 'isValid' | 'position'>;

/** Tests a rule in a stored collection, or in one that is not saved: then on the members of a new record. */
export async function testRule(
  { name, definition }: { readonly name: string; readonly definition: CollectionInput | undefined },
  test: RuleTest & { readonly rule: string | null },
): Promise<RuleVerdict> {
  if (definition === undefined) {
    const path = { collection: name };
    return {
      message: '',
      ...(await call('POST /api/collections/{collection}/rules/test', { path, body: test })),
    };
  }
  const { record, ...others } = test;
  const body = { ...others, definition, record: typeof record === 'object' ? record : {} };
  return call('POST /api/collections/meta/dry-run-rule', { body });
}

/** Returns the newest record of a collection, if it has any. */
export async function newestRecord(collection: string): Promise<string | undefined> {
  const query = { perPage: 1, skipTotal: true, fields: 'id', sort: '-@rowid' };
  const { items } = await call('GET /api/collections/{collection}/records', { path: { collection }, query });
  return items[0]?.id;
}

export type RuleName = Extract<keyof Collection, `${string}Rule`>;

export const ruleTitles: Readonly<Record<RuleName, string>> = {
  listRule: 'List',
  viewRule: 'View',
  createRule: 'Create',
  updateRule: 'Update',
  deleteRule: 'Delete',
  authRule: 'Sign in',
  manageRule: 'Manage',
};

/** The rules in the order in which they are shown. The last two are of accounts only. */
export const ruleNames = membersOf(ruleTitles);

export function rulesOf({ type }: Pick<Collection, 'type'>): readonly RuleName[] {
  if (type === 'view') return ruleNames.slice(0, 2);
  return type === 'auth' ? ruleNames : ruleNames.slice(0, 5);
}

export function isRuleName(text: unknown): text is RuleName {
  return ruleNames.some((name) => name === text);
}

/** Who passes a rule: nobody but superusers, everyone, whoever is signed in, or those of whom an expression is true. */
export type RuleKind = 'locked' | 'public' | 'signedIn' | 'expression';

export const signedInRule = '@request.auth.id != ""';

export function ruleKind(rule: string | null | undefined): RuleKind {
  if (rule === null || rule === undefined) return 'locked';
  if (rule.trim() === '') return 'public';
  return /^@request\.auth\.id\s*!=\s*(?:""|''|null)$/.test(rule.trim()) ? 'signedIn' : 'expression';
}

/** The relations that a collection has, each with the id of the collection that it leads to. */
export function relationsOf({ fields }: Collection): readonly Extract<Field, { type: 'relation' }>[] {
  return fields.filter((field) => field.type === 'relation');
}
