import { useQuery } from '@tanstack/react-query';
import type { ComponentProps, ReactNode } from 'react';
import type { Collection, Field, RecordModel } from '../../api/client.ts';
import type { FieldOf } from '../../api/collections.ts';
import { Button } from '../../parts/button.tsx';
import { Combobox } from '../../parts/combobox.tsx';
import { Editor } from '../../parts/editor/editor.tsx';
import { SetControl } from '../../parts/form/set-control.tsx';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { PasswordInput } from '../../parts/password-input.tsx';
import { localTime, parseTime, Time } from '../../parts/time.tsx';
import { TypeIcon } from '../../parts/type-icon.tsx';
import { FileEditor } from './editors/file-editor.tsx';
import { RelationEditor } from './editors/relation-editor.tsx';
import { pointOf, textOf } from './field-values.ts';

export interface ControlProps<One extends Field = Field> {
  readonly id: string;
  readonly field: One;
  /** Undefined for a record that is still to be made. */
  readonly record: RecordModel | undefined;
  readonly collections: readonly Collection[];
  /** As field-values.ts formats it. */
  readonly value: unknown;
  readonly error: string | undefined;
  readonly onChange: (value: unknown) => void;
}

/** The control of each type, wherever a value is changed: in a cell, in the drawer, or in many records at once. */
const controls: { readonly [Type in Field['type']]: (props: ControlProps<FieldOf<Type>>) => ReactNode } = {
  text: (props) =>
    props.field.primaryKey ? <IdInput {...props} /> : <TextInput {...props} rows={1} spellCheck />,
  number: (props) => <TextInput {...props} inputMode="decimal" />,
  email: (props) => <TextInput {...props} type="email" />,
  url: (props) => <TextInput {...props} type="url" />,
  editor: (props) => <TextInput {...props} rows={4} isMono />,
  json: JsonInput,
  bool: Switch,
  date: DateInput,
  autodate: ({ id, value }) => (
    <span className="soft" id={id}>
      <Time value={textOf(value)} />
    </span>
  ),
  select: SelectControl,
  relation: RelationEditor,
  file: FileEditor,
  geoPoint: PointInput,
  password: ({ id, record, value, error, onChange }) => (
    <PasswordInput
      id={id}
      value={textOf(value)}
      autoComplete="new-password"
      placeholder={record === undefined ? '' : 'Unchanged'}
      onChange={({ target }) => onChange(target.value)}
      {...errorAttributes(id, error)}
    />
  ),
};

/** A field with its name, type and help, its control, and what is wrong with its value. */
export function FieldControl(props: ControlProps) {
  const { id, field, error, value } = props;
  // The entry of a type takes the fields of that type.
  const Control = controls[field.type] as (props: ControlProps) => ReactNode;
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
      aside={field.type === 'date' ? utcText(value) : field.hidden ? 'superusers only' : undefined}
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
  return ['geoPoint', 'relation', 'file', 'autodate'].includes(field.type);
}

interface TextInputProps
  extends
    Pick<ControlProps, 'id' | 'value' | 'error' | 'onChange'>,
    Pick<ComponentProps<'input'>, 'type' | 'inputMode' | 'placeholder' | 'readOnly'> {
  /** Of a text that grows with its lines. */
  readonly rows?: number;
  readonly isMono?: boolean;
  readonly spellCheck?: boolean;
  /** The id of the field where the control has one of its own. */
  readonly errorId?: string;
}

function TextInput({ id, value, error, onChange, rows, isMono = false, ...props }: TextInputProps) {
  const { type, inputMode, placeholder, readOnly, spellCheck = false, errorId = id } = props;
  const common = {
    id,
    value: textOf(value),
    placeholder,
    readOnly,
    spellCheck,
    className: isMono ? 'input mono' : 'input',
    autoComplete: 'off',
    onChange: ({ target }: { readonly target: { readonly value: string } }) => onChange(target.value),
    ...errorAttributes(errorId, error),
  };
  return rows === undefined ? (
    <input {...common} type={type} inputMode={inputMode} />
  ) : (
    <textarea {...common} rows={rows} />
  );
}

function IdInput(props: ControlProps<FieldOf<'text'>>) {
  const { field, record } = props;
  const placeholder = field.autogeneratePattern === '' ? '' : 'Generated if left empty';
  return <TextInput {...props} readOnly={record !== undefined} placeholder={placeholder} isMono />;
}

/** JSON is laid out when the focus leaves it; what is no JSON stays as it was typed. */
function JsonInput({ id, field, value, error, onChange }: ControlProps) {
  const text = textOf(value);
  const layOut = (): void => {
    try {
      const tidy = JSON.stringify(JSON.parse(text), null, 2);
      if (tidy !== text) onChange(tidy);
    } catch {
      // The editor marks what is wrong.
    }
  };
  return (
    <Editor
      id={id}
      label={field.name}
      value={text}
      error={error}
      language="json"
      lines={3}
      onChange={onChange}
      onBlur={layOut}
    />
  );
}

function Switch({ id, value, error, onChange }: ControlProps) {
  return (
    <span className="switch">
      <input
        id={id}
        type="checkbox"
        checked={value === true}
        onChange={({ target }) => onChange(target.checked)}
        {...errorAttributes(id, error)}
      />
      <span className="soft">{value === true ? 'true' : 'false'}</span>
    </span>
  );
}

/** A moment in the time zone of the reader. What is sent is UTC, which the head of the field shows. */
function DateInput({ id, value, error, onChange }: ControlProps) {
  const date = parseTime(textOf(value));
  return (
    <div className="input-group">
      <input
        id={id}
        type="datetime-local"
        step={1}
        className="input"
        value={date === undefined ? '' : localTime(date)}
        onChange={({ target }) => onChange(target.value === '' ? '' : apiTime(new Date(target.value)))}
        {...errorAttributes(id, error)}
      />
      <Button onClick={() => onChange(apiTime(new Date()))}>Now</Button>
    </div>
  );
}

function utcText(value: unknown): string | undefined {
  const date = parseTime(textOf(value));
  return date === undefined ? undefined : `${apiTime(date).slice(0, 19)} UTC`;
}

/** As the API writes it: `2026-11-25 23:54:55.123Z`. */
function apiTime(date: Date): string {
  return date.toISOString().replace('T', ' ');
}

function SelectControl({ id, field, value, error, onChange }: ControlProps<FieldOf<'select'>>) {
  const { name, values, maxSelect } = field;
  const choices = values.map((one) => ({ value: one, label: one }));
  if (maxSelect > 1) {
    const set = { path: name, kind: 'set', label: name, choices } as const;
    return <SetControl id={id} field={set} input={value} onChange={onChange} />;
  }
  return (
    <Combobox
      id={id}
      label={name}
      none="–"
      value={textOf(value)}
      choices={choices}
      onChange={onChange}
      {...errorAttributes(id, error)}
    />
  );
}

/** The two coordinates, and a map once it is loaded: where that fails, the inputs are enough. */
function PointInput({ id, value, error, onChange }: ControlProps) {
  const { data: map, isError } = useQuery({
    queryKey: ['point map'],
    queryFn: async () => import('./editors/point-map.tsx'),
    networkMode: 'always',
    staleTime: Infinity,
    gcTime: Infinity,
    retry: false,
  });
  const point = pointOf(value);
  const input = (name: 'lon' | 'lat', label: string) => (
    <label>
      {label}
      <TextInput
        id={name === 'lon' ? id : `${id}-${name}`}
        inputMode="decimal"
        value={point[name]}
        error={error}
        errorId={id}
        onChange={(next) => onChange({ ...point, [name]: next })}
      />
    </label>
  );
  return (
    <>
      <div className="pair">
        {input('lon', 'Longitude')}
        {input('lat', 'Latitude')}
      </div>
      {!isError && (
        <div className="point-map">
          {map !== undefined && (
            <map.PointMap
              lon={Number(point.lon)}
              lat={Number(point.lat)}
              onMove={({ lon, lat }) => onChange({ lon: String(lon), lat: String(lat) })}
            />
          )}
        </div>
      )}
    </>
  );
}
