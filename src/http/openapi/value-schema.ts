import type { AutodateOptions } from '../../fields/autodate-field.ts';
import type { BoolOptions } from '../../fields/bool-field.ts';
import type { DateOptions } from '../../fields/date-field.ts';
import type { EditorOptions } from '../../fields/editor-field.ts';
import type { EmailOptions } from '../../fields/email-field.ts';
import type { FieldOptions, FieldTypeName } from '../../fields/field-type.ts';
import type { Field } from '../../fields/field.ts';
import type { FileOptions } from '../../fields/file-field.ts';
import type { GeoPointOptions } from '../../fields/geo-point-field.ts';
import type { JsonOptions } from '../../fields/json-field.ts';
import type { NumberOptions } from '../../fields/number-field.ts';
import type { DomainRules } from '../../fields/option-reader.ts';
import type { PasswordOptions } from '../../fields/password-field.ts';
import type { RelationOptions } from '../../fields/relation-field.ts';
import type { SelectOptions } from '../../fields/select-field.ts';
import { textLengthMaxDefault, type TextOptions } from '../../fields/text-field.ts';
import type { UrlOptions } from '../../fields/url-field.ts';
import { objectSchema, type Schema } from './schema.ts';

/** Schemas of a field's values, each absent where the field has no such value. */
export interface ValueSchema {
  /** In a request: what the field's options accept, in the type's own form. Other forms are converted to it. */
  readonly given?: Schema;
  /** In an answer: what always holds, whatever the options were when the value was stored. */
  readonly answered?: Schema;
}

/** Returns the schemas of a field's values. `nameOf` returns the name of a collection by its id. */
export function valueSchema(field: Field, nameOf: (id: string) => string): ValueSchema {
  return describers[field.type](field.options, nameOf);
}

type Describer<Options extends FieldOptions> = (
  options: Options,
  nameOf: (id: string) => string,
) => ValueSchema;

const text: Schema = { type: 'string' };
const moment: Schema = {
  type: 'string',
  pattern: '^(\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z)?$',
  description: 'In UTC; empty for none.',
};

const point = objectSchema({
  lon: { type: 'number', minimum: -180, maximum: 180 },
  lat: { type: 'number', minimum: -90, maximum: 90 },
});

/** One describer for each type; the compiler reports a missing one. */
const describers: Readonly<Record<FieldTypeName, Describer<FieldOptions>>> = {
  text: general<TextOptions>((options) => ({
    given: textSchema({ ...options, max: options.max === 0 ? textLengthMaxDefault : options.max }),
    answered: text,
  })),
  number: general<NumberOptions>((options) => ({
    given: numberSchema(options),
    answered: { type: 'number' },
  })),
  bool: general<BoolOptions>(({ required }) => ({
    given: required ? { const: true } : { type: 'boolean' },
    answered: { type: 'boolean' },
  })),
  email: general<EmailOptions>((options) => ({
    given: formatted('idn-email', options.required, domainNotes(options)),
    answered: text,
  })),
  url: general<UrlOptions>((options) => ({
    given: formatted('iri', options.required, `http or https. ${domainNotes(options)}`),
    answered: text,
  })),
  editor: general<EditorOptions>(({ maxSize, required }) => ({
    given: { ...filled(required), description: `HTML, at most ${maxSize || '5 Mi'} bytes.` },
    answered: { ...text, description: 'HTML, as it was given: whoever shows it has to clean it.' },
  })),
  date: general<DateOptions>(({ min, max, required }) => ({
    given: {
      ...filled(required),
      description: `A moment, as \`2026-11-20 09:35:20.114Z\`.${between(min, max)}`,
    },
    answered: moment,
  })),
  autodate: general<AutodateOptions>(() => ({
    answered: { ...moment, readOnly: true, description: 'Set by the service only.' },
  })),
  select: general<SelectOptions>(({ values, ...options }) =>
    chosenSchema({ ...options, item: { enum: values } }),
  ),
  file: general<FileOptions>((options) =>
    chosenSchema({ ...options, item: text, description: 'Names of files that the record has.' }),
  ),
  relation: general<RelationOptions>(({ collectionId, ...options }, nameOf) =>
    chosenSchema({
      ...options,
      item: { type: 'string', minLength: 1, maxLength: 255 },
      description: `Ids of records of \`${nameOf(collectionId)}\`.`,
    }),
  ),
  json: general<JsonOptions>(({ maxSize, required }) => ({
    given: {
      ...(required ? { not: { enum: [null, '', [], {}] } } : {}),
      description: `Any JSON value, at most ${maxSize || '1 Mi'} bytes.`,
    },
    answered: { description: 'Any JSON value.' },
  })),
  geoPoint: general<GeoPointOptions>(({ required }) => ({
    given: required ? { ...point, not: { const: { lon: 0, lat: 0 } } } : point,
    answered: objectSchema({ lon: { type: 'number' }, lat: { type: 'number' } }),
  })),
  password: general<PasswordOptions>((options) => ({
    given: {
      ...textSchema({ ...options, max: options.max === 0 ? 512 : options.max }),
      writeOnly: true,
      description: 'Never shown again. At most 512 bytes.',
    },
  })),
};

function general<Options extends FieldOptions>(describer: Describer<Options>): Describer<FieldOptions> {
  // The cast holds: a field's options were made by the decodeOptions of its type.
  return describer as unknown as Describer<FieldOptions>;
}

function filled(required: boolean): Schema {
  return required ? { type: 'string', minLength: 1 } : text;
}

function formatted(format: string, required: boolean, description: string): Schema {
  const given = { type: 'string', format, minLength: 1 };
  const schema = required ? given : { anyOf: [given, { const: '' }] };
  return description === '' ? schema : { ...schema, description };
}

function between(min: string, max: string): string {
  return `${min === '' ? '' : ` Not before ${min}.`}${max === '' ? '' : ` Not after ${max}.`}`;
}

export interface ChosenOptions {
  readonly item: Schema;
  /** 0 or 1: the value is one text; more: a list. */
  readonly maxSelect: number;
  readonly minSelect?: number;
  readonly required: boolean;
  readonly description?: string;
}

/** Schemas of select, relation and file fields: one text or several different ones, none of them empty. */
function chosenSchema(options: ChosenOptions): { readonly given: Schema; readonly answered: Schema } {
  const { item, maxSelect, required, description } = options;
  const noted = description === undefined ? {} : { description };
  if (maxSelect <= 1) {
    const one = required ? item : { anyOf: [item, { const: '' }] };
    return { given: { ...one, ...noted }, answered: { type: 'string', ...noted } };
  }
  const several = { type: 'array', items: item, uniqueItems: true, maxItems: maxSelect };
  return {
    given: { ...withMinimum(several, options), ...noted },
    answered: { type: 'array', items: { type: 'string' }, uniqueItems: true, ...noted },
  };
}

/** Adds the minimum. Unless `required`, an empty list is valid whatever the minimum. */
function withMinimum(several: Schema, { required, minSelect = 0 }: ChosenOptions): Schema {
  if (required) return { ...several, minItems: Math.max(1, minSelect) };
  if (minSelect <= 1) return several;
  return {
    anyOf: [
      { ...several, minItems: minSelect },
      { type: 'array', maxItems: 0 },
    ],
  };
}

/** Says in words which hosts are allowed; empty when all are. */
function domainNotes({ onlyDomains, exceptDomains }: DomainRules): string {
  if (onlyDomains.length > 0) return `Only at ${onlyDomains.join(', ')}.`;
  return exceptDomains.length > 0 ? `Not at ${exceptDomains.join(', ')}.` : '';
}

/** Returns what a number field accepts. Zero counts as empty: unless a value is required, it is valid whatever the bounds. */
function numberSchema({ min, max, onlyInt, required }: NumberOptions): Schema {
  const bounded: Schema = {
    type: onlyInt ? 'integer' : 'number',
    ...(min === null ? {} : { minimum: min }),
    ...(max === null ? {} : { maximum: max }),
  };
  if (required) return { ...bounded, not: { const: 0 } };
  const isZeroWithin = (min ?? 0) <= 0 && (max ?? 0) >= 0;
  return isZeroWithin ? bounded : { anyOf: [bounded, { const: 0 }] };
}

export interface TextSchemaOptions {
  /** Code points, as JSON Schema counts them. */
  readonly min: number;
  readonly max: number;
  /** RE2 syntax; empty for none. */
  readonly pattern: string;
  readonly required: boolean;
}

/** Returns what a text field accepts. Only `required` decides about an empty text, whatever the other options say. */
function textSchema({ min, max, pattern, required }: TextSchemaOptions): Schema {
  const filled: Schema = {
    type: 'string',
    minLength: Math.max(1, min),
    maxLength: max,
    ...patternMembers(pattern),
  };
  if (required) return filled;
  if (min <= 1 && pattern === '') return { type: 'string', maxLength: max };
  return { anyOf: [filled, { const: '' }] };
}

/** Describes in words a pattern whose RE2 syntax JSON Schema lacks or reads differently: as a `pattern` it would refuse valid values. */
function patternMembers(pattern: string): Schema {
  if (pattern === '') return {};
  return isEcmaScript(pattern) ? { pattern } : { description: `Matches \`${pattern}\` (RE2).` };
}

function isEcmaScript(pattern: string): boolean {
  const bare = pattern.replaceAll(/\\[^sSpP]/g, '');
  // `\s`, `\p`, the dot, flags and `a{02}` compile in both syntaxes but match different texts.
  if (/\\|\.|\(\?[-ims]|[{,]0\d/.test(bare)) return false;
  try {
    return new RegExp(pattern, 'u').source !== '';
  } catch {
    return false;
  }
}
