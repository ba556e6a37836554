import { useState } from 'react';
import { call, type Collection } from '../../api/client.ts';
import type { Schemas } from '../../api/schema.ts';
import { Button } from '../../parts/button.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { Editor } from '../../parts/editor/editor.tsx';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import type { DraftHandle } from './definition-draft.ts';

export interface ViewQueryProps {
  readonly draft: DraftHandle;
  readonly collections: readonly Collection[];
  readonly error: string | undefined;
}

/** The query of a view, and what it returns when it is tried. */
export function ViewQuery({ draft, collections, error }: ViewQueryProps) {
  const query = draft.next.viewQuery ?? '';
  const { result, failure, isBusy, run } = useDryRun(query);
  return (
    <>
      <LabelledField id="view-query" label="Query" error={error}>
        <Editor
          id="view-query"
          label="Query"
          language="sql"
          lines={6}
          value={query}
          placeholder="SELECT id, title FROM posts"
          tables={Object.fromEntries(
            collections.map(({ name, fields }) => [name, fields.map((field) => field.name)]),
          )}
          error={error}
          onChange={(viewQuery) => draft.change({ viewQuery })}
        />
      </LabelledField>
      <div>
        <Button disabled={isBusy || query === ''} onClick={() => void run()}>
          Try query
        </Button>
      </div>
      {failure !== undefined && <FailureNotice error={failure} />}
      {result !== undefined && (
        <>
          <ul className="panel settings-list" aria-label="Fields of the view">
            {result.fields.map(({ id, name, type }) => (
              <li key={id} className="settings-row">
                <span className="mono">{name}</span> {type}
              </li>
            ))}
          </ul>
          <JsonView value={result.sample.map(toRow)} />
        </>
      )}
    </>
  );
}

/** A record without the name of the view that it was tried as, which nobody has given it. */
function toRow({
  collectionId: _id,
  collectionName: _name,
  ...row
}: Schemas['DryRunView']['sample'][number]) {
  return row;
}

function useDryRun(query: string) {
  const [result, setResult] = useState<Schemas['DryRunView']>();
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const run = async (): Promise<void> => {
    setIsBusy(true);
    setResult(undefined);
    setFailure(undefined);
    try {
      setResult(await call('POST /api/collections/meta/dry-run-view', { body: { query } }));
    } catch (error) {
      setFailure(error);
    } finally {
      setIsBusy(false);
    }
  };
  return { result, failure, isBusy, run };
}
