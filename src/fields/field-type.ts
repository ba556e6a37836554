import type { FieldError, FieldErrors } from '../base/errors.ts';
import type { NewFile } from './new-file.ts';
import type { ValueSchema } from './value-schema.ts';

/**
 * The port of a field type: everything the service must know of a kind of value, in one place.
 *
 *   client's value ── normalise ──► stored value ── check ──► FieldError | undefined
 *   stored value ──── toJson ─────► its JSON text in answers and events
 *
 * A stored value is the same on every engine: text, a number, 0/1 for a bool, JSON text for json and multiple values
 * (null only where a type says so). Types know no collection and no database.
 */
export interface FieldType<Options extends FieldOptions = FieldOptions> {
  readonly type: FieldTypeName;

  /** Reads the options of a definition; every problem goes to `problems` under the option's name. Unknown keys are ignored. */
  readonly decodeOptions: (raw: RawOptions, problems: Problems) => Options;

  /**
   * How the stored value compares and sorts: text bytewise, numbers by size, bool as 0 and 1, json as its text. Undefined for a
   * value that must not be part of a record: it has no column, and is never read, filtered, sorted or shown.
   */
  readonly column: (options: Options) => ColumnKind | undefined;

  /** Set where its texts never hold a character that JSON would escape. */
  readonly isPlain?: true;

  /** Set where its check or normal form keeps every text within 255 bytes, whatever the options. */
  readonly isShort?: true;

  /** Describes the values of a field; `nameOf` returns the name of a collection by its id. */
  readonly schema: (options: Options, nameOf: (id: string) => string) => ValueSchema;

  /** Returns the stored form of a missing value. */
  readonly zero: (options: Options) => StoredValue;

  /**
   * Returns the stored form of whatever a client sent; never throws. A value that cannot be read becomes one that `check` refuses:
   * null, NaN, or an empty text where JSON is stored.
   */
  readonly normalise: (value: unknown, options: Options) => StoredValue;

  /**
   * Returns the first violated condition in the contract's order, or undefined. `before` is the record's present value; undefined
   * while the record is created.
   */
  readonly check: (stored: StoredValue, options: Options, before?: StoredValue) => FieldError | undefined;

  /** As `check`, of a value that names files which came with it. Only for the type of files, which is checked by this alone. */
  readonly checkFiles?: (stored: StoredValue, options: Options, sent: SentFiles) => FieldError | undefined;

  /** The modifiers that {@link modify} supports; absent when only whole values can be sent. */
  readonly modifiers?: readonly Modifier[];

  /** Applies a modifier to a stored value. Never throws; the result is checked like any other value. */
  readonly modify?: (stored: StoredValue, change: FieldChange, options: Options) => StoredValue;

  /** Returns the JSON text of a stored value. */
  readonly toJson: (stored: StoredValue, options: Options) => string;

  /**
   * For types that only the server writes: returns the value at this moment, or undefined to keep the present one. Client values
   * are ignored.
   */
  readonly stamp?: (
    moment: 'create' | 'update',
    timestamp: string,
    options: Options,
  ) => StoredValue | undefined;

  /** Returns the value of a new record where the client sent none; undefined keeps zero. Runs before `check`. */
  readonly generate?: (options: Options) => StoredValue | undefined;
}

export type FieldTypeName =
  | 'text'
  | 'number'
  | 'bool'
  | 'email'
  | 'url'
  | 'editor'
  | 'date'
  | 'autodate'
  | 'select'
  | 'file'
  | 'relation'
  | 'json'
  | 'geoPoint'
  | 'password';

/** Returns the stored form of a value that was stored before; zero where a field of today's definition cannot read it. */
export function storedAgain(type: FieldType, value: unknown, options: FieldOptions): StoredValue {
  const stored = type.normalise(value, options);
  return stored === null || Number.isNaN(stored) ? type.zero(options) : stored;
}

export interface SentFiles {
  /** As for {@link FieldType.check}. */
  readonly before: StoredValue | undefined;
  readonly files: readonly NewFile[];
}

/** Keys of a body that change the value of the field `f` instead of replacing it (http-api.md section 10). */
export type Modifier = 'f+' | '+f' | 'f-' | 'f:autogenerate';

export interface FieldChange {
  readonly modifier: Modifier;
  /** What the client sent under that key. */
  readonly value: unknown;
}

export type ColumnKind = 'text' | 'number' | 'bool' | 'json';

export type StoredValue = string | number | null;

/** Options as they are stored in the definition and shown by the collections API: complete, defaults filled in. */
export type FieldOptions = Readonly<Record<string, unknown>>;

/** A definition's members as the client sent them. */
export type RawOptions = Readonly<Record<string, unknown>>;

/** Collects problems by option name. The first problem of a name is kept. */
export interface Problems {
  add(name: string, error: FieldError | FieldErrors): void;
}

/** A member of a body: its value or its problem; nested for a member that has members of its own. */
export type DecodedValue<Value> = { readonly value: Value } | { readonly error: FieldError | FieldErrors };
