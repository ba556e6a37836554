import type { FieldError, FieldErrors } from '../base/errors.ts';

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
   * How the stored value compares and sorts: text bytewise, numbers by size, bool as 0 and 1, json as its text. Undefined for
   * what must not be found in a record: it has no column, and nothing that reads, filters, sorts or tells records knows it.
   */
  readonly column: (options: Options) => ColumnKind | undefined;

  /** Its texts hold nothing that JSON would escape. */
  readonly isPlain?: true;

  /** What is stored when a client gives nothing. */
  readonly zero: (options: Options) => StoredValue;

  /** The stored form of whatever a client sent; never throws. What cannot be understood becomes something `check` refuses, or zero where the contract says so. */
  readonly normalise: (value: unknown, options: Options) => StoredValue;

  /** The first broken condition in the contract's order, or undefined. `before` is what the record has; undefined while it is made. */
  readonly check: (stored: StoredValue, options: Options, before?: StoredValue) => FieldError | undefined;

  /** What {@link modify} understands; absent when only whole values can be sent. */
  readonly modifiers?: readonly Modifier[];

  /** The stored form of what one of the `modifiers` makes of a stored value; never throws, and is checked like any other value. */
  readonly modify?: (stored: StoredValue, change: Change, options: Options) => StoredValue;

  /** The JSON text of a stored value. */
  readonly toJson: (stored: StoredValue, options: Options) => string;

  /** For types the server writes itself: the value at this moment, or undefined to leave what is there. Client values are then ignored. */
  readonly stamp?: (
    moment: 'create' | 'update',
    timestamp: string,
    options: Options,
  ) => StoredValue | undefined;

  /** What a new record gets where the client left the value empty, or undefined: zero stays. Comes before `check`. */
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

/** Keys of a body that change the value of the field `f` instead of replacing it (http-api.md section 10). */
export type Modifier = 'f+' | '+f' | 'f-' | 'f:autogenerate';

export interface Change {
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

/** Collects problems by option name. The first one for a name stays. */
export interface Problems {
  add(name: string, error: FieldError | FieldErrors): void;
}
