import { type FormEvent, useId, useState } from 'react';
import type { Collection, Field } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { Combobox } from '../../parts/combobox.tsx';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { FieldControl } from './field-control.tsx';
import { DraftError, formatValue, toChanges } from './field-values.ts';

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
  const filled = value ?? (field && formatValue(field, undefined));
  const apply = (event: FormEvent): void => {
    event.preventDefault();
    if (field === undefined) return;
    try {
      const body = toChanges(collection, { [name]: filled }, false);
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
      onSubmit={apply}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={`${id}-title`}>Edit a field of {label}</h2>
      <div className="bulk-edit-fields">
        <LabelledField id={`${id}-field`} label="Field">
          <Combobox
            id={`${id}-field`}
            label="Field"
            autoFocus
            value={name}
            choices={fields.map((one) => ({ value: one.name, label: one.name }))}
            onChange={(next) => {
              setName(next);
              setValue(undefined);
              setError(undefined);
            }}
          />
        </LabelledField>
        {field !== undefined && (
          <FieldControl
            key={field.id}
            id={`${id}-value`}
            field={field}
            record={undefined}
            collections={collections}
            value={filled}
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

/** Fields of which many records can have the same value, as far as the type goes. */
function changedFields(collection: Collection): readonly Field[] {
  return collection.fields.filter(
    ({ type, name, system }) =>
      !system && name !== 'id' && type !== 'autodate' && type !== 'file' && type !== 'password',
  );
}
