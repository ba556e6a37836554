import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { Collection } from '../../api/client.ts';
import { collectionsQuery } from '../../api/collections.ts';
import { changeCollection, type DefinitionChange, planChange, type RuleName } from '../../api/definitions.ts';
import { useKeys } from '../../browser/keys.ts';
import { Button } from '../../parts/button.tsx';
import { CollectionPage } from '../../parts/collection-page.tsx';
import { Key } from '../../parts/key.tsx';
import { UnlessLocked } from '../../parts/lock.tsx';
import { Notice } from '../../parts/notice.tsx';
import { plural } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { stepsBetween } from './definition-changes.ts';
import {
  type DraftHandle,
  droppedFields,
  resultOf,
  toInput,
  useDefinitionDraft,
} from './definition-draft.ts';
import { DeleteCollection } from './delete-collection.tsx';
import { Review } from './review.tsx';
import { firstTest, RuleTester } from './rule-tester.tsx';
import { problemsOf, SchemaForm } from './schema-form.tsx';

const route = getRouteApi('/shell/c/$collection/schema');

/** The definition of a collection: fields, rules, indexes and options, and what a change of it will do before it is done. */
export function SchemaScreen() {
  const { collection: name } = route.useParams();
  return (
    <CollectionPage name={name}>
      {(collection, collections) => (
        <UnlessLocked>
          <Schema key={collection.id} collection={collection} collections={collections} />
        </UnlessLocked>
      )}
    </CollectionPage>
  );
}

interface SchemaProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
}

function Schema({ collection, collections }: SchemaProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const draft = useDefinitionDraft(collection.id, collection);
  const { change, error, isBusy, review, save, close } = useSaving(draft, collection);
  useKeys({
    'Mod+s': (event) => {
      event.preventDefault();
      void review();
    },
  });
  const { test, rule } = search;
  const openTest = async (name: RuleName): Promise<void> => {
    const context = { collection: collection.name, collections };
    // Another rule is tested as the one before it.
    const next = test === undefined ? await firstTest(name, context) : { ...search, test: name };
    await navigate({ search: next });
  };
  return (
    <div className="schema-split" data-drawer={test === undefined ? undefined : ''}>
      <div className="schema-column">
        <div className="schema-scroll" tabIndex={-1}>
          <div className="page">
            {draft.isChanged && draft.base.updated !== collection.updated && (
              <Outdated draft={draft} collection={collection} />
            )}
            <SchemaForm
              draft={draft}
              collections={collections}
              error={error}
              isNew={false}
              focusedRule={rule}
              onTest={(name) => void openTest(name)}
            />
            {!collection.system && <DeleteCollection collection={collection} collections={collections} />}
          </div>
        </div>
        {draft.isChanged && (
          <Foot draft={draft} isBusy={isBusy} error={error} onReview={() => void review()} />
        )}
      </div>
      {test !== undefined && (
        <RuleTester
          key={test}
          name={test}
          rule={draft.next[test] ?? null}
          collection={collection}
          collections={collections}
          search={search}
          onSearch={(next) => void navigate({ search: next, replace: true })}
          onClose={() => void navigate({ search: {}, replace: true })}
        />
      )}
      {change !== undefined && (
        <Review change={change} collections={collections} onSave={save} onClose={close} />
      )}
    </div>
  );
}

/** Reviews and saves a draft: first what the service plans, then the change itself. */
function useSaving(draft: DraftHandle, collection: Collection) {
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  const [change, setChange] = useState<DefinitionChange>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const review = async (): Promise<void> => {
    if (isBusy || !draft.isChanged) return;
    setIsBusy(true);
    setError(undefined);
    try {
      const planned = await planChange(toInput(draft), droppedFields(draft));
      if (planned === undefined) {
        draft.clear();
        showToast('Nothing would change.');
      } else setChange(planned);
    } catch (failure) {
      setError(failure);
    } finally {
      setIsBusy(false);
    }
  };
  const save = async (): Promise<void> => {
    try {
      const saved = await changeCollection(collection.id, toInput(draft));
      draft.clear();
      await queries.invalidateQueries({ queryKey: collectionsQuery.queryKey });
      void queries.invalidateQueries({ queryKey: ['records'] });
      showToast('Saved.');
      if (saved.name !== collection.name)
        await navigate({ to: '/c/$collection/schema', params: { collection: saved.name }, replace: true });
    } catch (failure) {
      setError(failure);
      throw failure;
    }
  };
  return { change, error, isBusy, review, save, close: () => setChange(undefined) };
}

interface FootProps {
  readonly draft: DraftHandle;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly onReview: () => void;
}

function Foot({ draft, isBusy, error, onReview }: FootProps) {
  const count = stepsBetween(draft.base, resultOf(draft)).length;
  const refused = problemsOf(error).size;
  return (
    <footer className="schema-foot">
      <span className="drawer-foot-note" aria-live="polite">
        {refused > 0 ? `${plural(refused, 'problem')}, shown in place` : plural(count, 'unsaved change')}
      </span>
      <Button tone="quiet" onClick={draft.clear}>
        Discard
      </Button>
      <Button tone="primary" disabled={isBusy} onClick={onReview}>
        Review
        <Key keys="ModS" />
      </Button>
    </footer>
  );
}

/** Somebody else has changed the definition since this draft was begun. */
function Outdated({ draft, collection }: { readonly draft: DraftHandle; readonly collection: Collection }) {
  return (
    <Notice tone="retrying">
      The definition has changed since you began. Saving yours overwrites it; the review shows the effects.
      <div className="notice-actions">
        <Button onClick={() => draft.rebase(collection)}>Keep mine</Button>
        <Button onClick={draft.clear}>Take theirs</Button>
      </div>
    </Notice>
  );
}
