import type { Collection, Field, RecordModel } from '../../api/client.ts';
import { unreachable } from '../../api/members-of.ts';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { PasswordInput } from '../../parts/password-input.tsx';
import { Time } from '../../parts/time.tsx';
import { TypeIcon } from '../../parts/type-icon.tsx';
import { DateEditor, utcHint } from './editors/date-editor.tsx';
import { FileEditor } from './editors/file-editor.tsx';
import { GeoPointEditor } from './editors/geo-point-editor.tsx';
import { JsonEditor } from './editors/json-editor.tsx';
import { RelationEditor } from './editors/relation-editor.tsx';
import { SelectEditor } from './editors/select-editor.tsx';
import { TextEditor } from './editors/text-editor.tsx';

export interface FieldEditorProps {
  readonly id: string;
  readonly field: Field;
  /** Undefined for a record that is still to be made. */
  readonly record: RecordModel | undefined;
  readonly collections: readonly Collection[];
  readonly value: unknown;
  readonly error: string | undefined;
  readonly onChange: (value: unknown) => void;
}

/** A field with its name, type and help, what takes its value, and what is wrong with that. */
export function FieldEditor(props: FieldEditorProps) {
  const { id, field, error, value } = props;
  // An id that is left empty is made.
  const isRequired =
    'required' in field && field.required && !(field.type === 'text' && field.autogeneratePattern !== '');
  return (
    <LabelledField
      id={id}
      label={
        <>
          <TypeIcon field={field} />
          {field.name}
        </>
      }
      isRequired={isRequired}
      isGroup={isGroup(field)}
      aside={field.type === 'date' ? utcHint(value) : field.hidden ? 'superusers only' : undefined}
      help={'help' in field ? field.help : undefined}
      error={error}
    >
      <Control {...props} />
    </LabelledField>
  );
}

/** True where several controls make the value. */
function isGroup(field: Field): boolean {
  if (field.type === 'select') return field.maxSelect > 1;
  return (
    field.type === 'geoPoint' ||
    field.type === 'relation' ||
    field.type === 'file' ||
    field.type === 'autodate'
  );
}

function Control(props: FieldEditorProps) {
  const { id, field, record, value, error, onChange, collections } = props;
  const text = typeof value === 'string' ? value : '';
  switch (field.type) {
    case 'bool':
      return <BoolEditor {...props} />;
    case 'number':
      return <TextEditor {...props} inputMode="decimal" value={text} />;
    case 'email':
      return <TextEditor {...props} type="email" value={text} />;
    case 'url':
      return <TextEditor {...props} type="url" value={text} />;
    case 'text':
      return field.primaryKey ? (
        <TextEditor
          {...props}
          value={text}
          isReadOnly={record !== undefined}
          placeholder={field.autogeneratePattern === '' ? '' : 'Generated if left empty'}
          isMono
        />
      ) : (
        <TextEditor {...props} value={text} isLong />
      );
    case 'editor':
      return <TextEditor {...props} value={text} isLong isMono />;
    case 'date':
      return <DateEditor id={id} value={text} error={error} onChange={onChange} />;
    case 'autodate':
      return (
        <span className="soft" id={id}>
          <Time value={text} />
        </span>
      );
    case 'select':
      return <SelectEditor id={id} field={field} value={value} error={error} onChange={onChange} />;
    case 'relation':
      return (
        <RelationEditor id={id} field={field} value={value} collections={collections} onChange={onChange} />
      );
    case 'file':
      return <FileEditor id={id} field={field} record={record} value={value} onChange={onChange} />;
    case 'json':
      return <JsonEditor id={id} label={field.name} value={text} error={error} onChange={onChange} />;
    case 'geoPoint':
      return <GeoPointEditor id={id} value={value} onChange={onChange} />;
    case 'password':
      return (
        <PasswordInput
          id={id}
          value={text}
          autoComplete="new-password"
          placeholder={record === undefined ? '' : 'Unchanged'}
          onChange={(event) => onChange(event.target.value)}
          {...errorAttributes(id, error)}
        />
      );
    default:
      return unreachable(field);
  }
}

function BoolEditor({ id, value, error, onChange }: FieldEditorProps) {
  return (
    <span className="switch">
      <input
        id={id}
        type="checkbox"
        checked={value === true}
        onChange={(event) => onChange(event.target.checked)}
        {...errorAttributes(id, error)}
      />
      <span className="soft">{value === true ? 'true' : 'false'}</span>
    </span>
  );
}
