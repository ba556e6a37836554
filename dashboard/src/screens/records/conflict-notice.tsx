import type { Collection, RecordModel } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { Notice } from '../../parts/notice.tsx';
import { editedValue, FileChange } from './record-draft.ts';

interface ConflictNoticeProps {
  readonly collection: Collection;
  /** What was to be saved, by the names of the fields. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly theirs: RecordModel;
  readonly onMine: () => void;
  readonly onTheirs: () => void;
}

/** Somebody else has saved the record meanwhile: both versions of each field that is in question, and the choice. */
export function ConflictNotice({ collection, values, theirs, onMine, onTheirs }: ConflictNoticeProps) {
  return (
    <Notice tone="retrying">
      Someone else changed this record. Your changes are not saved yet.
      <div className="versions">
        {Object.entries(values).map(([name, mine]) => {
          const field = collection.fields.find((one) => one.name === name);
          const current = field === undefined ? theirs[name] : editedValue(field, theirs);
          return (
            <div key={name} className="version">
              <p className="version-name">{name}</p>
              <dl>
                <dt>Yours</dt>
                <dd>{shown(mine)}</dd>
                <dt>Saved now</dt>
                <dd>{shown(current)}</dd>
              </dl>
            </div>
          );
        })}
      </div>
      <div className="notice-actions">
        <Button onClick={onMine}>Keep mine</Button>
        <Button onClick={onTheirs}>Use the saved version</Button>
      </div>
    </Notice>
  );
}

function shown(value: unknown): string {
  if (value instanceof FileChange) return `${value.added.length} added, ${value.removed.length} removed`;
  if (value === undefined || value === '') return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
