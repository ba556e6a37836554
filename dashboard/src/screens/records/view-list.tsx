import { Link, useRouter } from '@tanstack/react-router';
import Check from 'lucide-react/icons/check';
import Pencil from 'lucide-react/icons/pencil';
import Trash2 from 'lucide-react/icons/trash-2';
import { useId, useState } from 'react';
import type { Collection } from '../../api/client.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { showToast } from '../../parts/toast.tsx';
import type { ShownRecords } from './column-layout.ts';
import { decodeRecordSearch } from './record-search.ts';
import { type SavedView, type TableView, useSavedViews, viewNameMax } from './saved-views.ts';

interface ViewListProps extends ShownRecords {
  readonly onClose: () => void;
}

/** The saved views of a table, and a name for the one that shows. */
export function ViewList({ collection, columns, filter, sort, onClose }: ViewListProps) {
  const saved = useSavedViews(collection.id);
  const [renamed, setRenamed] = useState<string>();
  const current: TableView = { filter, sort, columns: columns.text };
  return (
    <>
      {saved.views.length > 0 && (
        <ul aria-label="Views">
          {saved.views.map((view) =>
            view.name === renamed ? (
              <li key={view.name}>
                <NameForm
                  label="New name"
                  action="Rename"
                  name={view.name}
                  onName={(name) => {
                    saved.rename(view.name, name);
                    setRenamed(undefined);
                  }}
                />
              </li>
            ) : (
              <ViewItem
                key={view.name}
                collection={collection}
                view={view}
                isCurrent={isSame(view, current)}
                onOpen={onClose}
                onRename={() => setRenamed(view.name)}
                onDelete={() => attempt(() => saved.remove(view.name))}
              />
            ),
          )}
        </ul>
      )}
      <NameForm
        key={saved.views.length}
        label="Name of this view"
        action="Save view"
        name=""
        onName={(name) => saved.add({ ...current, name })}
      />
      <p className="field-help">Saved in this browser.</p>
    </>
  );
}

function isSame(one: TableView, other: TableView): boolean {
  return one.filter === other.filter && one.sort === other.sort && one.columns === other.columns;
}

/** Returns why it failed; an empty text if it did not. */
function failureOf(run: () => void): string {
  try {
    run();
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function attempt(run: () => void): void {
  const failure = failureOf(run);
  if (failure !== '') showToast(failure, 'failed');
}

interface ViewItemProps {
  readonly collection: Collection;
  readonly view: SavedView;
  readonly isCurrent: boolean;
  readonly onOpen: () => void;
  readonly onRename: () => void;
  readonly onDelete: () => void;
}

function ViewItem({ collection, view, isCurrent, onOpen, onRename, onDelete }: ViewItemProps) {
  const router = useRouter();
  const { name } = view;
  const search = decodeRecordSearch({ ...view });
  const place = { to: '/c/$collection', params: { collection: collection.name }, search } as const;
  return (
    <li className="columns-item">
      <Link {...place} className="view-link cut" aria-current={isCurrent} onClick={onOpen}>
        {name}
      </Link>
      {isCurrent && <Check size={14} aria-label="Shown now" />}
      <CopyButton
        label={`Copy link to ${name}`}
        text={new URL(router.buildLocation(place).publicHref, location.origin).href}
      />
      <IconButton small label={`Rename ${name}`} icon={Pencil} onClick={onRename} />
      <IconButton small label={`Delete ${name}`} icon={Trash2} onClick={onDelete} />
    </li>
  );
}

interface NameFormProps {
  readonly label: string;
  readonly action: string;
  readonly name: string;
  /** Throws with the reason why not. */
  readonly onName: (name: string) => void;
}

function NameForm({ label, action, name, onName }: NameFormProps) {
  const id = useId();
  const [text, setText] = useState(name);
  const [failure, setFailure] = useState('');
  const error = failure === '' ? undefined : failure;
  return (
    <form
      className="view-form"
      onSubmit={(event) => {
        event.preventDefault();
        setFailure(failureOf(() => onName(text.trim())));
      }}
    >
      <LabelledField id={id} label={label} error={error}>
        <div className="field-head">
          <input
            {...errorAttributes(id, error)}
            id={id}
            className="input"
            value={text}
            maxLength={viewNameMax}
            autoComplete="off"
            onChange={(event) => setText(event.target.value)}
          />
          <Button type="submit">{action}</Button>
        </div>
      </LabelledField>
    </form>
  );
}
