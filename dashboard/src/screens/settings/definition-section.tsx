import { useQueryClient } from '@tanstack/react-query';
import Download from 'lucide-react/icons/download';
import { useId, useState } from 'react';
import { call, client, type Collection, Failure } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { readBlob } from '../../api/read-blob.ts';
import type { Schemas } from '../../api/schema.ts';
import { saveBlob } from '../../browser/save-blob.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { useIsLocked } from '../../parts/lock.tsx';
import { FailureNotice, messageOf } from '../../parts/notice.tsx';
import { plural } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { Group } from '../../parts/form/group.tsx';
import { ImportPlanView, lossOf } from './import-plan.tsx';

type ImportBody = Schemas['CollectionImport'];

/** Definitions of collections as a file, both ways. */
export function DefinitionSection() {
  const collections = useLoadedCollections();
  const isLocked = useIsLocked();
  return (
    <>
      {collections !== undefined && <ExportGroup collections={collections.filter(({ system }) => !system)} />}
      {!isLocked && <ImportGroup />}
    </>
  );
}

function ExportGroup({ collections }: { readonly collections: readonly Collection[] }) {
  const text = JSON.stringify(collections, null, 2);
  const { error, attempt } = useAttempt();
  const saveTypes = async (): Promise<void> =>
    saveBlob(await readBlob(client, '/api/collections/meta/types'), 'chancery-types.ts');
  return (
    <Group
      title="Export"
      lead={`The definitions of ${plural(collections.length, 'collection')} with fields, indexes and rules; no records, and no secrets.`}
    >
      <div className="settings-actions">
        <Button
          icon={Download}
          onClick={() => saveBlob(new Blob([text], { type: 'application/json' }), 'collections.json')}
          disabled={collections.length === 0}
        >
          Download collections.json
        </Button>
        <CopyButton text={text} label="Copy the definitions" small={false} />
        <Button icon={Download} onClick={() => attempt(saveTypes)}>
          Download types
        </Button>
      </div>
      {error !== undefined && <FailureNotice error={error} />}
    </Group>
  );
}

function ImportGroup() {
  const [text, setText] = useState('');
  const [deletesMissing, setDeletesMissing] = useState(false);
  const { error, attempt, forget } = useAttempt();
  const [plan, setPlan] = useState<{ readonly body: ImportBody; readonly plan: Schemas['ImportPlan'] }>();
  const edit = (next: string): void => {
    setText(next);
    setPlan(undefined);
    forget();
  };
  const show = async (): Promise<void> => {
    setPlan(undefined);
    const body = { collections: readCollections(text), deleteMissing: deletesMissing };
    setPlan({ body, plan: await call('POST /api/collections/import/plan', { body }) });
  };
  return (
    <Group title="Import" lead="You’ll review the changes first. They apply together or not at all.">
      <DefinitionText text={text} onEdit={edit} />
      <label className="switch">
        <input
          type="checkbox"
          checked={deletesMissing}
          onChange={(event) => {
            setDeletesMissing(event.target.checked);
            setPlan(undefined);
          }}
        />
        Delete collections and fields that are not in it
      </label>
      {error !== undefined && <ImportFailure error={error} />}
      {plan === undefined ? (
        <div>
          <Button disabled={text.trim() === ''} onClick={() => attempt(show)}>
            Review changes
          </Button>
        </div>
      ) : (
        <PlanReview {...plan} onDone={() => edit('')} />
      )}
    </Group>
  );
}

interface DefinitionTextProps {
  readonly text: string;
  readonly onEdit: (text: string) => void;
}

function DefinitionText({ text, onEdit }: DefinitionTextProps) {
  const id = useId();
  return (
    <LabelledField
      id={id}
      label="Definitions"
      aside={
        <label className="link settings-file">
          Choose a file
          <input
            type="file"
            className="unseen"
            accept="application/json,.json"
            onChange={(event) => void event.target.files?.[0]?.text().then(onEdit)}
          />
        </label>
      }
      help="An array of collections, as an export writes it."
    >
      <textarea
        id={id}
        className="input mono"
        rows={8}
        value={text}
        spellCheck={false}
        placeholder='[{"name": "posts", "type": "base", "fields": [ … ]}]'
        onChange={(event) => onEdit(event.target.value)}
      />
    </LabelledField>
  );
}

/** Throws for what is no list of definitions. */
function readCollections(text: string): ImportBody['collections'] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`Invalid JSON: ${messageOf(error)}`, { cause: error });
  }
  const list: unknown =
    typeof value === 'object' && value !== null && 'collections' in value ? value.collections : value;
  if (!Array.isArray(list)) throw new Error('Not a list of collections: expected [ … ].');
  // The service checks each of them, and says what is wrong.
  return list as ImportBody['collections'];
}

function ImportFailure({ error }: { readonly error: unknown }) {
  const fields = error instanceof Failure ? [...error.fields] : [];
  return (
    <>
      <FailureNotice error={error} />
      {fields.length > 0 && (
        <ul className="settings-errors">
          {fields.map(([path, message]) => (
            <li key={path}>
              <span className="mono">{path}</span>: {message}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

interface PlanReviewProps {
  readonly body: ImportBody;
  readonly plan: Schemas['ImportPlan'];
  readonly onDone: () => void;
}

function PlanReview({ body, plan, onDone }: PlanReviewProps) {
  const queries = useQueryClient();
  const { error, attempt } = useAttempt();
  const loss = lossOf(plan);
  const run = async (): Promise<void> => {
    await call('PUT /api/collections/import', { body });
    await queries.invalidateQueries();
    showToast('The definitions are imported.');
    onDone();
  };
  const isNothing = plan.created.length + plan.changed.length + plan.deleted.length === 0;
  return (
    <>
      <ImportPlanView plan={plan} />
      {error !== undefined && <ImportFailure error={error} />}
      {!isNothing && (
        <div>
          {loss === '' ? (
            <Button tone="primary" onClick={() => attempt(run)}>
              Import
            </Button>
          ) : (
            <ConfirmButton
              label="Import …"
              button={{ tone: 'danger' }}
              title="Import and lose data?"
              action="Import"
              typed="import"
              onConfirm={run}
            >
              {loss}
            </ConfirmButton>
          )}
        </div>
      )}
    </>
  );
}
