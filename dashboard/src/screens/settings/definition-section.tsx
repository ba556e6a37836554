import { useQueryClient } from '@tanstack/react-query';
import Download from 'lucide-react/icons/download';
import { call, client, type Collection } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { readBlob } from '../../api/read-blob.ts';
import type { Schemas } from '../../api/schema.ts';
import { saveBlob } from '../../browser/save-blob.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { useIsLocked } from '../../parts/lock.tsx';
import { FileLabel } from '../../parts/file-input.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { ImportFields, usePlannedImport } from '../../parts/planned-import.tsx';
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
  const queries = useQueryClient();
  // The service checks each of them.
  const listOf = (items: readonly unknown[]) => items as ImportBody['collections'];
  const form = usePlannedImport<Schemas['ImportPlan']>({
    member: 'collections',
    plan: async (items, deleteMissing) =>
      call('POST /api/collections/import/plan', { body: { collections: listOf(items), deleteMissing } }),
    apply: async (items, deleteMissing) => {
      await call('PUT /api/collections/import', { body: { collections: listOf(items), deleteMissing } });
      await queries.invalidateQueries();
      showToast('The definitions are imported.');
      form.setText('');
    },
  });
  const { text, plan, isBusy } = form;
  return (
    <Group title="Import" lead="You’ll review the changes first. They apply together or not at all.">
      <ImportFields
        form={form}
        label="Definitions"
        help="An array of collections, as an export writes it."
        aside={<FileLink onText={form.setText} />}
        rows={8}
        placeholder='[{"name": "posts", "type": "base", "fields": [ … ]}]'
        deleteLabel="Delete collections and fields that are not in it"
      />
      {plan === undefined ? (
        <div>
          <Button disabled={isBusy || text.trim() === ''} onClick={form.review}>
            Review changes
          </Button>
        </div>
      ) : (
        <PlanReview plan={plan} onApply={form.apply} onAttempt={form.attemptApply} />
      )}
    </Group>
  );
}

/** Reads the text from a file. */
function FileLink({ onText }: { readonly onText: (text: string) => void }) {
  return (
    <FileLabel
      look="link"
      accept="application/json,.json"
      onFiles={([file]) => void file.text().then(onText)}
    >
      Choose a file
    </FileLabel>
  );
}

interface PlanReviewProps {
  readonly plan: Schemas['ImportPlan'];
  readonly onApply: () => Promise<void>;
  readonly onAttempt: () => void;
}

/** What would change, and the button that does it; where values are lost, it asks first. */
function PlanReview({ plan, onApply, onAttempt }: PlanReviewProps) {
  const loss = lossOf(plan);
  const isNothing = plan.created.length + plan.changed.length + plan.deleted.length === 0;
  return (
    <>
      <ImportPlanView plan={plan} />
      {!isNothing && loss === '' && (
        <div>
          <Button tone="primary" onClick={onAttempt}>
            Import
          </Button>
        </div>
      )}
      {loss !== '' && (
        <div>
          <ConfirmButton
            label="Import …"
            button={{ tone: 'danger' }}
            title="Import and lose data?"
            action="Import"
            typed="import"
            onConfirm={onApply}
          >
            {loss}
          </ConfirmButton>
        </div>
      )}
    </>
  );
}
