import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Collection } from '../../api/client.ts';
import { choicesOf } from '../../api/members-of.ts';
import { collectionsQuery } from '../../api/collections.ts';
import { createCollection, type RuleName, scaffoldsQuery } from '../../api/definitions.ts';
import { useKeys } from '../../browser/keys.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button } from '../../parts/button.tsx';
import { Key } from '../../parts/key.tsx';
import { UnlessLocked } from '../../parts/lock.tsx';
import { Picker } from '../../parts/form/picker.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { PlaceholderLines } from '../../parts/placeholder-lines.tsx';
import { showToast } from '../../parts/toast.tsx';
import { type DraftHandle, toCheckedInput, toNewInput, useDefinitionDraft } from './definition-draft.ts';
import { newField, withNew } from './field-types.ts';
import { firstTest, RuleTester, type TestSearch } from './rule-tester.tsx';
import { SchemaForm } from './schema-form.tsx';

const collectionTypes = choicesOf<Collection['type']>({
  base: 'Records',
  auth: 'Accounts',
  view: 'View',
});

/** Makes a collection. Its draft is kept as that of any other definition. */
export function NewCollectionScreen() {
  const { data: scaffolds, error, refetch } = useQuery(scaffoldsQuery);
  const { data: collections } = useQuery(collectionsQuery);
  return (
    <>
      <Bar title="New collection" />
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {(scaffolds === undefined || collections === undefined) && error === null && (
        <PlaceholderLines count={6} />
      )}
      {scaffolds !== undefined && collections !== undefined && (
        <UnlessLocked>
          <NewCollection scaffolds={scaffolds} collections={collections} />
        </UnlessLocked>
      )}
    </>
  );
}

interface NewCollectionProps {
  readonly scaffolds: Readonly<Record<Collection['type'], Collection>>;
  readonly collections: readonly Collection[];
}

function NewCollection({ scaffolds, collections }: NewCollectionProps) {
  const [blank] = useState(() => startFrom(scaffolds.base));
  const draft = useDefinitionDraft('new', blank);
  const { error, isBusy, create, forget } = useCreation(draft);
  const [search, setSearch] = useState<TestSearch>({});
  useKeys({
    'Mod+s': (event) => {
      event.preventDefault();
      void create();
    },
  });
  const openTest = async (name: RuleName): Promise<void> => {
    const first = await firstTest(name, { collection: undefined, collections });
    setSearch({ ...first, ...search, test: name });
  };
  return (
    <div className="schema-split" data-drawer={search.test === undefined ? undefined : ''}>
      <div className="schema-column">
        <div className="schema-scroll" tabIndex={-1}>
          <div className="page">
            <SchemaForm
              draft={draft}
              collections={collections}
              error={error}
              isNew
              onTest={(name) => void openTest(name)}
            >
              <Picker
                id="collection-type"
                label="Type"
                value={draft.next.type}
                choices={collectionTypes}
                onChange={(type) => draft.change(retyped(draft.next, withDates(scaffolds[type])))}
              />
            </SchemaForm>
          </div>
        </div>
        <footer className="schema-foot">
          <span className="drawer-foot-note">
            {draft.next.type === 'auth' ? 'Accounts can sign in.' : 'New collections are locked.'}
          </span>
          {draft.isChanged && (
            <Button tone="quiet" onClick={forget}>
              Discard
            </Button>
          )}
          <Button tone="primary" disabled={isBusy} onClick={() => void create()}>
            Create collection
            <Key keys="ModS" />
          </Button>
        </footer>
      </div>
      <NewRuleTester draft={draft} collections={collections} search={search} onSearch={setSearch} />
    </div>
  );
}

interface NewRuleTesterProps {
  readonly draft: DraftHandle;
  readonly collections: readonly Collection[];
  readonly search: TestSearch;
  readonly onSearch: (search: TestSearch) => void;
}

function NewRuleTester({ draft, collections, search, onSearch }: NewRuleTesterProps) {
  const { test } = search;
  if (test === undefined) return null;
  return (
    <RuleTester
      key={test}
      name={test}
      rule={draft.next[test] ?? null}
      collection={draft.next}
      definition={toCheckedInput(draft, true)}
      collections={collections}
      search={search}
      onSearch={onSearch}
      onClose={() => onSearch({})}
    />
  );
}

function useCreation(draft: DraftHandle) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  return {
    error,
    isBusy,
    create: async (): Promise<void> => {
      if (isBusy) return;
      setIsBusy(true);
      setError(undefined);
      try {
        const { name } = await createCollection(toNewInput(draft));
        await queries.invalidateQueries({ queryKey: collectionsQuery.queryKey });
        draft.clear();
        showToast(`${name} created.`);
        await navigate({ to: '/c/$collection', params: { collection: name } });
      } catch (failure) {
        setError(failure);
        setIsBusy(false);
      }
    },
    forget: (): void => {
      draft.clear();
      setError(undefined);
    },
  };
}

/** The id is only sent where a relation to the collection itself has to name it. */
function startFrom(scaffold: Collection): Collection {
  const random = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  return { ...withDates(scaffold), id: `pbc_${random}`, name: '' };
}

/** The service adds both dates to each new collection: they are shown, and rules can name them, from the start. */
function withDates(scaffold: Collection): Collection {
  if (scaffold.type === 'view') return scaffold;
  const created = { ...newField('autodate', 'created'), id: 'autodate_created' };
  const updated = { ...newField('autodate', 'updated'), id: 'autodate_updated', onUpdate: true };
  return { ...scaffold, fields: [...scaffold.fields, created, updated] };
}

/** The definition as one of another type: name, rules and own fields stay. */
function retyped(from: Collection, scaffold: Collection): Collection {
  const isOwn = ({ name, system }: Collection['fields'][number]): boolean => !system && name !== 'id';
  const own = from.fields.filter(
    (field) => isOwn(field) && !scaffold.fields.some(({ name }) => name === field.name),
  );
  const { listRule, viewRule, createRule, updateRule, deleteRule } = from;
  if (scaffold.type === 'view') return { ...scaffold, id: from.id, name: from.name, listRule, viewRule };
  return {
    ...scaffold,
    id: from.id,
    name: from.name,
    fields: own.reduce(withNew, scaffold.fields),
    indexes: [...scaffold.indexes, ...from.indexes.filter((text) => !/`?(?:tokenKey|email)`?/.test(text))],
    listRule,
    viewRule,
    createRule,
    updateRule,
    deleteRule,
  };
}
