import type { Collection, Field } from '../../api/client.ts';
import { unreachable } from '../../api/members-of.ts';
import type { FieldOf } from '../../api/collections.ts';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { FlagOption, NumberOption, TextOption, TextsOption } from './option-controls.tsx';

export interface TypeOptionsProps {
  readonly field: Field;
  /** Undefined for a field that is not there yet. */
  readonly base: Field | undefined;
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  /** What is wrong with an option, by its name. */
  readonly errorOf: (option: string) => string | undefined;
  readonly onChange: (field: Field) => void;
}

/** The options that only fields of this type have. */
export function TypeOptions({ field, base, collection, collections, errorOf, onChange }: TypeOptionsProps) {
  switch (field.type) {
    case 'text':
      return <TextOptions {...{ field, errorOf, onChange }} />;
    case 'number':
      return <NumberOptions {...{ field, errorOf, onChange }} />;
    case 'email':
    case 'url':
      return <DomainOptions {...{ field, errorOf, onChange }} />;
    case 'date':
      return <DateOptions {...{ field, errorOf, onChange }} />;
    case 'autodate':
      return <AutodateOptions {...{ field, errorOf, onChange }} />;
    case 'select':
      return <SelectOptions {...{ field, errorOf, onChange }} />;
    case 'file':
      return <FileOptions {...{ field, errorOf, onChange }} />;
    case 'relation':
      return (
        <RelationOptions
          {...{ field, collection, collections, errorOf, onChange }}
          isNew={base === undefined}
        />
      );
    case 'editor':
    case 'json':
      return (
        <>
          <SizeOption {...{ field, errorOf, onChange }} />
          {field.type === 'editor' && (
            <FlagOption
              label="Convert URLs"
              help="Editors of the official dashboard leave the address out."
              value={field.convertURLs}
              onChange={(convertURLs) => onChange({ ...field, convertURLs })}
            />
          )}
        </>
      );
    case 'password':
      return <PasswordOptions {...{ field, errorOf, onChange }} />;
    case 'bool':
    case 'geoPoint':
      return null;
    default:
      return unreachable(field);
  }
}

interface TypeProps<Type extends Field['type']> {
  readonly field: FieldOf<Type>;
  readonly errorOf: (option: string) => string | undefined;
  readonly onChange: (field: Field) => void;
}

function TextOptions({ field, errorOf, onChange }: TypeProps<'text'>) {
  return (
    <>
      <LengthOptions {...{ field, errorOf, onChange }} />
      <TextOption
        label="Pattern"
        help="A regular expression the whole text must match."
        value={field.pattern}
        error={errorOf('pattern')}
        isMono
        onChange={(pattern) => onChange({ ...field, pattern })}
      />
      <TextOption
        label="Generate from a pattern"
        help="Generates a value when none is sent: [a-z0-9]{15}"
        value={field.autogeneratePattern}
        error={errorOf('autogeneratePattern')}
        isMono
        onChange={(autogeneratePattern) => onChange({ ...field, autogeneratePattern })}
      />
    </>
  );
}

function LengthOptions({ field, errorOf, onChange }: TypeProps<'text' | 'password'>) {
  return (
    <>
      <NumberOption
        label="Shortest length"
        none={0}
        value={field.min}
        error={errorOf('min')}
        onChange={(min) => onChange({ ...field, min })}
      />
      <NumberOption
        label="Longest length"
        none={0}
        value={field.max}
        error={errorOf('max')}
        onChange={(max) => onChange({ ...field, max })}
      />
    </>
  );
}

function NumberOptions({ field, errorOf, onChange }: TypeProps<'number'>) {
  return (
    <>
      <NumberOption
        label="Smallest"
        none={null}
        isWhole={false}
        value={field.min}
        error={errorOf('min')}
        onChange={(min) => onChange({ ...field, min })}
      />
      <NumberOption
        label="Largest"
        none={null}
        isWhole={false}
        value={field.max}
        error={errorOf('max')}
        onChange={(max) => onChange({ ...field, max })}
      />
      <FlagOption
        label="Whole numbers only"
        value={field.onlyInt}
        error={errorOf('onlyInt')}
        onChange={(onlyInt) => onChange({ ...field, onlyInt })}
      />
    </>
  );
}

function DomainOptions({ field, errorOf, onChange }: TypeProps<'email' | 'url'>) {
  return (
    <>
      <TextsOption
        label="Only these domains"
        help="One per line."
        value={field.onlyDomains}
        error={errorOf('onlyDomains')}
        onChange={(onlyDomains) => onChange({ ...field, onlyDomains })}
      />
      <TextsOption
        label="Except these domains"
        help="One per line."
        value={field.exceptDomains}
        error={errorOf('exceptDomains')}
        onChange={(exceptDomains) => onChange({ ...field, exceptDomains })}
      />
    </>
  );
}

function DateOptions({ field, errorOf, onChange }: TypeProps<'date'>) {
  return (
    <>
      <TextOption
        label="Earliest"
        placeholder="2026-01-01 00:00:00.000Z"
        value={field.min}
        error={errorOf('min')}
        onChange={(min) => onChange({ ...field, min })}
      />
      <TextOption
        label="Latest"
        placeholder="2026-12-31 23:59:59.999Z"
        value={field.max}
        error={errorOf('max')}
        onChange={(max) => onChange({ ...field, max })}
      />
    </>
  );
}

function AutodateOptions({ field, errorOf, onChange }: TypeProps<'autodate'>) {
  return (
    <>
      <FlagOption
        label="Set when a record is created"
        value={field.onCreate}
        error={errorOf('onCreate')}
        onChange={(onCreate) => onChange({ ...field, onCreate })}
      />
      <FlagOption
        label="Set when a record is updated"
        value={field.onUpdate}
        error={errorOf('onUpdate')}
        onChange={(onUpdate) => onChange({ ...field, onUpdate })}
      />
    </>
  );
}

function SelectOptions({ field, errorOf, onChange }: TypeProps<'select'>) {
  return (
    <>
      <TextsOption
        label="Values"
        help="One per line, in display order."
        value={field.values}
        error={errorOf('values')}
        onChange={(values) => onChange({ ...field, values })}
      />
      <CountOption {...{ field, errorOf, onChange }} />
    </>
  );
}

function CountOption({ field, errorOf, onChange }: TypeProps<'select' | 'file' | 'relation'>) {
  return (
    <NumberOption
      label="Max"
      help="1 = single, more = list"
      none={0}
      value={field.maxSelect}
      error={errorOf('maxSelect')}
      onChange={(maxSelect) => onChange({ ...field, maxSelect })}
    />
  );
}

function SizeOption({ field, errorOf, onChange }: TypeProps<'editor' | 'json' | 'file'>) {
  return (
    <NumberOption
      label="Largest size in bytes"
      none={0}
      value={field.maxSize}
      error={errorOf('maxSize')}
      onChange={(maxSize) => onChange({ ...field, maxSize })}
    />
  );
}

function FileOptions({ field, errorOf, onChange }: TypeProps<'file'>) {
  return (
    <>
      <CountOption {...{ field, errorOf, onChange }} />
      <SizeOption {...{ field, errorOf, onChange }} />
      <TextsOption
        label="Only these types"
        help="One per line. Empty: all types."
        placeholder="image/png"
        value={field.mimeTypes}
        error={errorOf('mimeTypes')}
        onChange={(mimeTypes) => onChange({ ...field, mimeTypes })}
      />
      <TextsOption
        label="Thumbs"
        help="One per line: 100x100, 300x0."
        placeholder="100x100"
        value={field.thumbs}
        error={errorOf('thumbs')}
        onChange={(thumbs) => onChange({ ...field, thumbs })}
      />
      <FlagOption
        label="Protected"
        help="Only those who may view the record can open its files."
        value={field.protected}
        onChange={(isProtected) => onChange({ ...field, protected: isProtected })}
      />
    </>
  );
}

interface RelationOptionsProps extends TypeProps<'relation'> {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly isNew: boolean;
}

function RelationOptions({ field, collection, collections, isNew, errorOf, onChange }: RelationOptionsProps) {
  const id = `${field.id}-collection`;
  const error = errorOf('collectionId');
  const others = collections.filter((one) => one.id !== collection.id);
  return (
    <>
      <LabelledField
        id={id}
        label="Collection"
        error={error}
        help={isNew ? undefined : 'Can’t be changed: stored ids belong to this collection.'}
      >
        <select
          id={id}
          className="input"
          value={field.collectionId}
          disabled={!isNew}
          onChange={(event) => onChange({ ...field, collectionId: event.target.value })}
          {...errorAttributes(id, error)}
        >
          <option value="">Choose a collection</option>
          <option value={collection.id}>This collection</option>
          {others.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
      </LabelledField>
      <CountOption {...{ field, errorOf, onChange }} />
      <NumberOption
        label="Min"
        none={0}
        value={field.minSelect}
        error={errorOf('minSelect')}
        onChange={(minSelect) => onChange({ ...field, minSelect })}
      />
      <FlagOption
        label="Cascade delete"
        help="Deleting the related record also deletes this one."
        value={field.cascadeDelete}
        onChange={(cascadeDelete) => onChange({ ...field, cascadeDelete })}
      />
    </>
  );
}

function PasswordOptions({ field, errorOf, onChange }: TypeProps<'password'>) {
  return (
    <>
      <LengthOptions {...{ field, errorOf, onChange }} />
      <TextOption
        label="Pattern"
        value={field.pattern}
        error={errorOf('pattern')}
        isMono
        onChange={(pattern) => onChange({ ...field, pattern })}
      />
      <NumberOption
        label="bcrypt cost"
        none={0}
        value={field.cost}
        error={errorOf('cost')}
        onChange={(cost) => onChange({ ...field, cost })}
      />
    </>
  );
}
