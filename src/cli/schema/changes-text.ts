import { isJsonObject } from '../../base/json.ts';
import { printable } from '../../base/printable.ts';
import { kindOfPart, type SchemaChange, type SchemaPart } from '../../definitions/schema-changes.ts';
import { type Colors, jsonText } from '../terminal/show.ts';

/** Returns the changes for people: a line for each collection, and one for each part of it that changes. */
export function changesText(changes: readonly SchemaChange[], colors: Colors): string {
  const signs = { create: colors.green('+'), change: colors.yellow('~'), delete: colors.red('-') };
  return changes
    .flatMap(({ change, name, parts }) => [
      `${signs[change]} ${colors.bold(printable(name))}`,
      ...parts.map((part) => `  ${signs[kindOfPart(part)]} ${printable(partText(part))}`),
    ])
    .map((line) => `${line}\n`)
    .join('');
}

function partText({ part, before, after }: SchemaPart): string {
  const whole = before === undefined ? after : after === undefined ? before : undefined;
  if (whole === undefined) return `${part}: ${valueText(before)} → ${valueText(after)}`;
  if (typeof whole === 'string' && part.startsWith('index ')) return `${part}: ${whole}`;
  return isJsonObject(whole) && typeof whole['type'] === 'string'
    ? `${part}: ${whole['type']}`
    : `${part}: ${valueText(whole)}`;
}

const valueLengthMax = 100;

function valueText(value: unknown): string {
  const text = jsonText(value);
  return text.length > valueLengthMax ? `${text.slice(0, valueLengthMax - 1)}…` : text;
}
