import Plus from 'lucide-react/icons/plus';
import Trash2 from 'lucide-react/icons/trash-2';
import { useState } from 'react';
import { Button, IconButton } from '../../parts/button.tsx';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { remainingFields, type DraftHandle } from './definition-draft.ts';
import { indexText } from '../../parts/unique-index.ts';

interface IndexListProps {
  readonly draft: DraftHandle;
  readonly errors: ReadonlyMap<string, string>;
}

/** The indexes as the API has them, in SQL, and what makes one of chosen fields. */
export function IndexList({ draft, errors }: IndexListProps) {
  const { indexes } = draft.next;
  const set = (next: readonly string[]): void => draft.change({ indexes: next });
  return (
    <>
      {indexes.length === 0 && (
        <p className="soft">No indexes yet. An index speeds up filters and sorts by its fields.</p>
      )}
      {indexes.map((text, index) => {
        const id = `index-${index}`;
        const error = errors.get(`indexes.${index}`);
        return (
          // Two indexes may have the same text while one is typed; only their places tell them apart.
          <LabelledField
            key={id}
            id={id}
            label={<span className="unseen">Index {index + 1}</span>}
            error={error}
          >
            <div className="schema-index">
              <textarea
                id={id}
                className="input mono"
                rows={1}
                value={text}
                spellCheck={false}
                onChange={(event) => set(indexes.with(index, event.target.value))}
                {...errorAttributes(id, error)}
              />
              <IconButton
                icon={Trash2}
                label={`Drop index ${index + 1}`}
                onClick={() => set(indexes.toSpliced(index, 1))}
              />
            </div>
          </LabelledField>
        );
      })}
      {errors.has('indexes') && (
        <p className="field-error" role="alert">
          {errors.get('indexes')}
        </p>
      )}
      <NewIndex draft={draft} onAdd={(text) => set([...indexes, text])} />
    </>
  );
}

/** Fields in the order in which they are chosen: an index is of use for its first ones. */
function NewIndex({ draft, onAdd }: { readonly draft: DraftHandle; readonly onAdd: (text: string) => void }) {
  const [isOpen, setIsOpen] = useState(false);
  const [fields, setFields] = useState<readonly string[]>([]);
  const [isUnique, setIsUnique] = useState(false);
  if (!isOpen)
    return (
      <div>
        <Button icon={Plus} onClick={() => setIsOpen(true)}>
          Add index
        </Button>
      </div>
    );
  const close = (): void => {
    setIsOpen(false);
    setFields([]);
    setIsUnique(false);
  };
  const columns = remainingFields(draft).filter(
    ({ type, name }) => type !== 'password' && name !== 'tokenKey',
  );
  return (
    <div className="schema-panel">
      <div className="field" role="group" aria-label="Fields of the index">
        <span className="field-label">Fields, in order</span>
        <div className="choices">
          {columns.map(({ id, name }) => {
            const place = fields.indexOf(name);
            return (
              <button
                key={id}
                type="button"
                className="choice"
                aria-pressed={place !== -1}
                onClick={() => setFields(place === -1 ? [...fields, name] : fields.toSpliced(place, 1))}
              >
                {place === -1 ? name : `${place + 1}. ${name}`}
              </button>
            );
          })}
        </div>
      </div>
      <label className="switch">
        <input type="checkbox" checked={isUnique} onChange={(event) => setIsUnique(event.target.checked)} />
        Unique
      </label>
      <div className="schema-actions">
        <Button
          tone="primary"
          disabled={fields.length === 0}
          onClick={() => {
            onAdd(indexText(draft.next, { fields, isUnique }));
            close();
          }}
        >
          Add index
        </Button>
        <Button tone="quiet" onClick={close}>
          Cancel
        </Button>
      </div>
    </div>
  );
}
