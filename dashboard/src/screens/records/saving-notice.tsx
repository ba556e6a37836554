import type { Collection } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { excerpt } from '../../parts/excerpt.ts';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { formatValue } from './field-values.ts';
import { type DraftValues, FileChange } from './record-draft.ts';
import type { Saving } from './use-saving.ts';

interface SavingNoticeProps {
  readonly collection: Collection;
  readonly saving: Saving;
  /** What is to be saved. */
  readonly values: DraftValues;
  /** The fields whose controls show what is wrong with them. */
  readonly shown: readonly string[];
}

/** Why nothing was saved, where no control says it; where somebody else has saved the record meanwhile, both versions and the choice. */
export function SavingNotice({ collection, saving, values, shown }: SavingNoticeProps) {
  const { conflict, error, messages, resolve } = saving;
  if (conflict === undefined)
    return error === undefined || shown.some((name) => messages.has(name)) ? null : (
      <FailureNotice error={error} />
    );
  return (
    <Notice tone="retrying">
      Someone else changed this record. Your changes are not saved yet.
      <div className="versions">
        {conflict.fields.map((name) => {
          const field = collection.fields.find((one) => one.name === name);
          const { record } = conflict.theirs;
          return (
            <div key={name} className="version">
              <p className="version-name">{name}</p>
              <dl>
                <dt>Yours</dt>
                <dd>{textOfValue(values[name])}</dd>
                <dt>Saved now</dt>
                <dd>{textOfValue(field === undefined ? record[name] : formatValue(field, record))}</dd>
              </dl>
            </div>
          );
        })}
      </div>
      <div className="notice-actions">
        <Button onClick={() => resolve(true)}>Keep mine</Button>
        <Button onClick={() => resolve(false)}>Use the saved version</Button>
      </div>
    </Notice>
  );
}

function textOfValue(value: unknown): string {
  if (value instanceof FileChange) return `${value.added.length} added, ${value.removed.length} removed`;
  if (value === undefined || value === '') return '–';
  return excerpt(typeof value === 'string' ? value : JSON.stringify(value));
}
