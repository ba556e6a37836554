import { useId, useState } from 'react';
import type { Collection, Field } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { FieldEditor } from './field-editor.tsx';
import { DraftError, editedValue, toChanges } from './record-draft.ts';

interface BulkEditProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  /** How many: `12 records`. */
  readonly label: string;
  readonly onApply: (body: Readonly<Record<string, unknown>>) => Promise<unknown>;
  readonly onClose: () => void;
}

/** One value for one field of many records. */
export function BulkEdit({ collection, collections, label, onApply, onClose }: BulkEditProps) {
  const id = useId();
  const fields = changedFields(collection);
  const [name, setName] = useState(fields[0]?.name ?? '');
  const [value, setValue] = useState<unknown>();
  const [error, setError] = useState<string>();
  const field = fields.find((one) => one.name === name);
  const apply = (): void => {
    if (field === undefined) return;
    try {
      const body = toChanges(collection, { [name]: value ?? emptyOf(field.type) }, false);
      onClose();
      void onApply(body);
    } catch (failure) {
      if (!(failure instanceof DraftError)) throw failure;
      setError(failure.message);
    }
  };
  return (
    <form
      className="bulk-edit"
      aria-labelledby={`${id}-title`}
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={`${id}-title`}>Edit a field of {label}</h2>
      <div className="bulk-edit-fields">
        <FieldChoice
          id={`${id}-field`}
          fields={fields}
          name={name}
          onName={(next) => {
            setName(next);
            setValue(undefined);
            setError(undefined);
          }}
        />
        {field !== undefined && (
          <FieldEditor
            key={field.id}
            id={`${id}-value`}
            field={field}
            record={undefined}
            collections={collections}
            value={value ?? editedValue(field, undefined)}
            error={error}
            onChange={setValue}
          />
        )}
      </div>
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" tone="primary" disabled={field === undefined}>
          Change {label}
        </Button>
      </div>
    </form>
  );
}

/** What a field is set to when nothing was filled in. */
function emptyOf(type: Field['type']): unknown {
  if (type === 'bool') return false;
  return type === 'geoPoint' ? { lon: 0, lat: 0 } : '';
}

/** Fields of which many records can have the same value, as far as the type goes. */
function changedFields(collection: Collection): readonly Field[] {
  return collection.fields.filter(
    ({ type, name, system }) =>
      !system && name !== 'id' && type !== 'autodate' && type !== 'file' && type !== 'password',
  );
}

interface FieldChoiceProps {
  readonly id: string;
  readonly fields: readonly Field[];
  readonly name: string;
  readonly onName: (name: string) => void;
}

function FieldChoice({ id, fields, name, onName }: FieldChoiceProps) {
  return (
    <LabelledField id={id} label="Field">
      <select
        id={id}
        className="input"
        autoFocus
        value={name}
        onChange={(event) => onName(event.target.value)}
      >
        {fields.map((one) => (
          <option key={one.id}>{one.name}</option>
        ))}
      </select>
    </LabelledField>
  );
}
