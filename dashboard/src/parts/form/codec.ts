import type { Field, ListField, NumberField, TextField } from './field.ts';
import { formatBytes, formatDuration, parseBytes, parseDelays, parseDuration } from './duration.ts';

export type Parsed = { readonly value: unknown } | { readonly problem: string };

/** How a control shows a value that is typed as a text, and what the text means. */
export interface Codec {
  readonly format: (value: unknown) => string;
  readonly parse: (text: string) => Parsed;
}

/** Returns the codec of a field; undefined where the control holds the value itself. */
export function codecOf(field: Field): Codec | undefined {
  switch (field.kind) {
    case 'text':
      return { format: textOf, parse: (text) => ({ value: textValue(field, text) }) };
    case 'color':
      return { format: textOf, parse: (text) => ({ value: text.trim() }) };
    case 'secret':
      return { format: () => '', parse: (text) => ({ value: text }) };
    case 'number':
    case 'duration':
    case 'bytes':
      return numberCodec(field);
    case 'list':
      return listCodec(field);
    case 'delays':
      return { format: formatSchedule, parse: parseSchedule };
    case 'pairs':
      return {
        format: (value) =>
          Object.entries(value ?? {})
            .map(([name, text]) => `${name}${field.sign === ':' ? ': ' : '='}${textOf(text)}`)
            .join('\n'),
        parse: (text) => parsePairs(text, field.sign),
      };
    case 'date':
      return { format: toLocalInput, parse: parseLocal };
    default:
      return undefined;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

function textValue({ rows = 1, isNullable }: TextField, text: string): string | null {
  const value = rows > 1 ? text : text.trim();
  return value === '' && isNullable === true ? null : value;
}

function numberCodec(field: NumberField): Codec {
  const { kind, unit, isNullable, none, isDecimal } = field;
  const scale = unit === 'ms' ? 1_000 : 1;
  const format = (value: number): string => {
    if (kind === 'bytes') return formatBytes(value);
    return kind === 'duration' && value > 0 ? formatDuration(value / scale) : String(value);
  };
  const parse = (text: string): number | undefined => {
    if (kind === 'bytes') return parseBytes(text);
    if (kind === 'number')
      return (isDecimal === true ? decimal : whole).test(text) ? Number(text) : undefined;
    const seconds = parseDuration(text, unit);
    const value = seconds === undefined ? 0.5 : Math.round(seconds * 1e6 * scale) / 1e6;
    return Number.isInteger(value) ? value : undefined;
  };
  return {
    format: (value) => (value === none ? '' : typeof value === 'number' ? format(value) : textOf(value)),
    parse: (text) => {
      const trimmed = text.trim().replaceAll(',', '');
      if (trimmed === '' && isNullable === true) return { value: null };
      if (trimmed === '' && none !== undefined) return { value: none };
      const value = parse(trimmed);
      if (value !== undefined) return { value };
      return { problem: isDecimal === true ? 'Enter a number.' : numberProblems[kind] };
    },
  };
}

const whole = /^\d{1,15}$/;
const decimal = /^[+-]?(?:\d{1,15}(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i;

const numberProblems: Readonly<Record<NumberField['kind'], string>> = {
  number: 'Enter a whole number.',
  duration: 'Enter a duration: 30 s, 5 min, 12 h.',
  bytes: 'Enter a size: 512 KiB, 5 GiB.',
};

function listCodec({ isInline }: ListField): Codec {
  return {
    format: (value) => (Array.isArray(value) ? value.map(textOf).join(isInline === true ? ', ' : '\n') : ''),
    parse: (text) => {
      const items = text.split(isInline === true ? ',' : '\n').map((item) => item.trim());
      return { value: items.filter((item) => item !== '') };
    },
  };
}

/** What the control of a schedule holds for a single attempt. */
export const once = 'once';

function formatSchedule(value: unknown): string {
  if (!Array.isArray(value)) return '';
  return value.length === 0 ? once : value.map((delay) => formatDuration(Number(delay))).join(', ');
}

function parseSchedule(text: string): Parsed {
  if (text === once) return { value: [] };
  const delays = parseDelays(text);
  if (delays === undefined) return { problem: 'Write delays with commas between them: 5 s, 2 min, 1 h.' };
  return { value: delays.length === 0 ? null : delays };
}

function parsePairs(text: string, sign: ':' | '='): Parsed {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line) => {
    const at = line.indexOf(sign);
    return [line.slice(0, Math.max(0, at)).trim(), line.slice(at + 1).trim()] as const;
  });
  if (pairs.some(([name]) => name === '' || /\s/.test(name)))
    return { problem: `Write one per line: ${sign === ':' ? 'Name: value' : 'name=value'}.` };
  return { value: Object.fromEntries(pairs) };
}

/** As a control of the browser has a moment: in local time, to the minute. */
function toLocalInput(value: unknown): string {
  const date = new Date(textOf(value).replace(' ', 'T'));
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function parseLocal(text: string): Parsed {
  return { value: text === '' ? '' : new Date(text).toISOString() };
}
