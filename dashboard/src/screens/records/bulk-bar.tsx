import { useQueryClient } from '@tanstack/react-query';
import Pencil from 'lucide-react/icons/pencil';
import Download from 'lucide-react/icons/download';
import Trash2 from 'lucide-react/icons/trash-2';
import X from 'lucide-react/icons/x';
import { useState } from 'react';
import type { Collection } from '../../api/client.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { useMayEdit } from '../../parts/lock.tsx';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import { plural } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { BulkEdit } from './bulk-edit.tsx';
import { doSteps, stepsFor, type Target } from './bulk-work.ts';
import type { Columns } from './column-layout.ts';
import { type ExportFormat, exportFormats, startExport } from './export-work.ts';
import type { Selection } from '../../parts/data-table/use-selection.ts';
import { offerUndo, readValues, undoRecordsMax } from './undo.ts';
import { useWork } from './use-work.ts';
import { Problems, WorkProgress } from './work-progress.tsx';

interface BulkBarProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly selection: Selection;
  readonly columns: Columns;
  /** How many records match; undefined as long as they are being counted. */
  readonly total: number | undefined;
  readonly filter: string;
  readonly sort: string;
}

/** What can be done with the selected records: change a field, export, delete. */
export function BulkBar(props: BulkBarProps) {
  const { collection, selection, total } = props;
  const bulk = useBulk(props);
  const mayEdit = useMayEdit(collection);
  const { work, count } = bulk;
  const [dialog, setDialog] = useState<'edit' | 'delete'>();
  const hasMore = !selection.isAll && total !== undefined && total > selection.count;
  return (
    <section className="bulk" aria-label="Selection">
      {work.state !== undefined && !work.isBusy && (
        <Problems problems={work.state.failed} error={work.state.error} />
      )}
      {dialog === 'edit' && (
        <BulkEdit {...props} label={bulk.label} onClose={() => setDialog(undefined)} onApply={bulk.change} />
      )}
      <div className="bulk-row">
        {work.isBusy ? (
          <WorkProgress
            done={work.state?.done ?? 0}
            total={count}
            verb={work.state?.verb ?? ''}
            onCancel={work.cancel}
          />
        ) : (
          <>
            <strong>{selection.isAll ? `All ${bulk.label} matching` : `${bulk.label} selected`}</strong>
            {hasMore && (
              <Button tone="quiet" onClick={selection.selectAll}>
                Select all {total.toLocaleString()} matching
              </Button>
            )}
            <BulkActions
              mayEdit={mayEdit}
              isEditing={dialog === 'edit'}
              onDialog={setDialog}
              onExport={(format) => void bulk.exportAs(format)}
              onClear={selection.clear}
            />
          </>
        )}
      </div>
      {dialog === 'delete' && (
        <Confirm
          title={`Delete ${bulk.label}?`}
          action={`Delete ${bulk.label}`}
          {...(selection.isAll && { typed: collection.name })}
          onClose={() => setDialog(undefined)}
          onConfirm={async () => {
            setDialog(undefined);
            await bulk.remove();
          }}
        >
          {selection.isAll ? 'All that match the filter' : 'They'} are deleted with their files and what
          depends on them.{' '}
          {(count ?? 0) > undoRecordsMax
            ? `More than ${undoRecordsMax} cannot be undone.`
            : 'Undo brings back the records alone.'}{' '}
          Endpoints subscribed to {collection.name} get an event for each.
        </Confirm>
      )}
    </section>
  );
}

interface BulkActionsProps {
  readonly mayEdit: boolean;
  readonly isEditing: boolean;
  readonly onDialog: (dialog: 'edit' | 'delete') => void;
  readonly onExport: (format: ExportFormat) => void;
  readonly onClear: () => void;
}

function BulkActions({ mayEdit, isEditing, onDialog, onExport, onClear }: BulkActionsProps) {
  return (
    <span className="bulk-actions">
      {mayEdit && (
        <Button icon={Pencil} aria-expanded={isEditing} onClick={() => onDialog('edit')}>
          Edit a field
        </Button>
      )}
      <Menu trigger={<Button icon={Download}>Export</Button>}>
        {exportFormats.map(({ value, label }) => (
          <MenuItem key={value} onSelect={() => onExport(value)}>
            {label}
          </MenuItem>
        ))}
      </Menu>
      <Button icon={Trash2} tone="danger" onClick={() => onDialog('delete')}>
        Delete
      </Button>
      <IconButton label="Clear the selection" icon={X} onClick={onClear} />
    </span>
  );
}

function useBulk({ collection, selection, columns, total, filter, sort }: BulkBarProps) {
  const queries = useQueryClient();
  const work = useWork(collection.name);
  const count = selection.isAll ? total : selection.count;
  const target: Target = selection.isAll
    ? { kind: 'all', filter, sort }
    : { kind: 'ids', ids: [...selection.ids] };
  const { name } = collection;
  const isSmall = count !== undefined && count <= undoRecordsMax;
  const each = async (verb: string, names: readonly string[], toStep: Parameters<typeof stepsFor>[2]) =>
    work.start({
      verb,
      changesRows: true,
      run: async (signal, onProgress) => {
        const options = { collection: name, signal, onProgress };
        const before = isSmall ? await readValues(options, target, names) : undefined;
        const { done, failed } = await doSteps(stepsFor(options, target, toStep), options);
        const left = new Set(failed.map(({ subject }) => subject));
        const ids = [...(before?.keys() ?? [])].filter((id) => !left.has(id));
        const isDelete = names.length === 0;
        const text = `${plural(done, 'record')} ${isDelete ? 'deleted' : 'changed'}.`;
        if (before === undefined || ids.length === 0) showToast(text);
        else {
          const after = isDelete ? before : await readValues(options, { kind: 'ids', ids }, names);
          const change = isDelete
            ? ({ kind: 'deletes', ids } as const)
            : ({ kind: 'edits', before, after } as const);
          offerUndo(queries, { collection, change }, text);
        }
        if (failed.length === 0) selection.clear();
      },
    });
  return {
    work,
    count,
    label: plural(count ?? 0, 'record'),
    change: async (body: Readonly<Record<string, unknown>>) =>
      each('Changing', Object.keys(body), (id) => ({ kind: 'update', id, subject: id, body })),
    remove: async () => each('Deleting', [], (id) => ({ kind: 'delete', id, subject: id })),
    exportAs: async (format: ExportFormat) => startExport(work, { collection, columns, target }, format),
  };
}
