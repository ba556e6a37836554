import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Collection } from '../../api/client.ts';
import { choicesOf } from '../../api/members-of.ts';
import { collectionsQuery } from '../../api/collections.ts';
import { createCollection, scaffoldsQuery } from '../../api/definitions.ts';
import { useKeys } from '../../browser/keys.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button } from '../../parts/button.tsx';
import { Key } from '../../parts/key.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { PlaceholderLines } from '../../parts/placeholder-lines.tsx';
import { showToast } from '../../parts/toast.tsx';
import { type DraftHandle, toNewInput, useDefinitionDraft } from './definition-draft.ts';
import { Segments } from './option-controls.tsx';
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
        <NewCollection scaffolds={scaffolds} collections={collections} />
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
  useKeys({
    'Mod+s': (event) => {
      event.preventDefault();
      void create();
    },
  });
  return (
    <div className="schema-column">
      <div className="schema-scroll" tabIndex={-1}>
        <div className="page">
          <SchemaForm draft={draft} collections={collections} error={error} isNew>
            <div className="field" role="group" aria-label="Type">
              <span className="field-label">Type</span>
              <div>
                <Segments
                  label="Type of the collection"
                  value={draft.next.type}
                  choices={collectionTypes}
                  onChange={(type) => draft.change(retyped(draft.next, scaffolds[type]))}
                />
              </div>
            </div>
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
  return { ...scaffold, id: `pbc_${random}`, name: '' };
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
    fields: [...scaffold.fields, ...own],
    indexes: [...scaffold.indexes, ...from.indexes.filter((text) => !/`?(?:tokenKey|email)`?/.test(text))],
    listRule,
    viewRule,
    createRule,
    updateRule,
    deleteRule,
  };
}
