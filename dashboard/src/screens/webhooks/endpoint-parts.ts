import type { Collection } from '../../api/client.ts';
import { membersOf } from '../../api/members-of.ts';
import { completeFilterOf } from '../../parts/complete-filter.ts';
import type { Field, Part, Values } from '../../parts/form/field.ts';
import type { Form } from '../../parts/form/use-form.ts';
import {
  beginnings,
  operational,
  type OptionName,
  options,
  type Place,
  type PlacedField,
} from './endpoint-fields.ts';

/** What a new endpoint begins with, by the names of its options. */
export const newEndpoint: Values = Object.fromEntries<unknown>(
  Object.entries({ ...options, ...beginnings }).map(([path, { initial }]) => [path, initial]),
);

/** What an API key for some endpoints may change: where and how they are sent events, and not which. */
const changeableNames: ReadonlySet<string> = new Set<OptionName>([
  'url',
  'description',
  'schedule',
  'headers',
  'contact',
  'order',
  'batch',
  'coalesce',
  'onExhausted',
  'timeoutMs',
  'maxInFlight',
  'rateLimit',
  'maxAgeSeconds',
]);

const folds: Readonly<Record<Exclude<Place, 'main'>, string>> = {
  who: 'Name, owner and contact',
  content: 'Payload and exact copies',
  receiver: 'Headers, tokens and certificates',
  pace: 'Order, batches and limits',
};

interface EndpointParts {
  readonly collections: readonly Collection[];
  readonly isNew: boolean;
  /** Whether an API key for some endpoints is signed in. */
  readonly isBound: boolean;
}

/** Returns the form of an endpoint. */
export function endpointParts({ collections, isNew, isBound }: EndpointParts): readonly Part[] {
  const fields = membersOf(options)
    .map((path): PlacedField => ({ ...options[path], path }))
    .filter(({ path }) => !isBound || changeableNames.has(path))
    .map((field) => completed(field, collections, isNew));
  const main = fields.filter(({ place }) => place === 'main');
  const places = membersOf(folds).filter((place) => fields.some((field) => field.place === place));
  return [
    ...main.flatMap((field) => (field.path === 'events' ? [field, operational] : [field])),
    ...places.map((place) => ({
      kind: 'fold' as const,
      title:
        isBound && place === 'who' ? 'Contact' : isBound && place === 'receiver' ? 'Headers' : folds[place],
      note: (form: Form) =>
        setText(
          form,
          fields.filter((field) => field.place === place),
        ),
      parts: withRow(fields.filter((field) => field.place === place)),
    })),
    ...(isNew
      ? [
          {
            kind: 'fold' as const,
            title: 'Secret and status',
            parts: membersOf(beginnings).map((path) => ({ ...beginnings[path], path })),
          },
        ]
      : []),
  ];
}

function completed(field: PlacedField, collections: readonly Collection[], isNew: boolean): PlacedField {
  if (field.kind === 'set' && field.path === 'collections')
    return { ...field, choices: collections.map(({ id, name }) => ({ value: id, label: name })) };
  if (field.kind === 'code')
    return {
      ...field,
      complete: (text, caret, form) =>
        completeFilterOf(
          chosenOf(form.value('collections'), collections),
          { text, caret },
          { collections, isOfChanges: true },
        ),
    };
  return field.kind === 'text' && field.path === 'url' ? { ...field, hasFocus: isNew } : field;
}

/** Returns those of which an endpoint is told with this value of its option. */
export function chosenOf(ids: unknown, collections: readonly Collection[]): readonly Collection[] {
  if (!Array.isArray(ids) || ids.length === 0) return collections;
  return collections.filter(({ id }) => ids.includes(id));
}

/** The numbers stand beside each other, at the end. */
function withRow(fields: readonly Field[]): readonly Part[] {
  const isNumber = ({ kind }: Field): boolean => kind === 'number' || kind === 'duration';
  const numbers = fields.filter(isNumber);
  return [
    ...fields.filter((field) => !isNumber(field)),
    ...(numbers.length === 0 ? [] : [{ kind: 'row' as const, parts: numbers }]),
  ];
}

/** `2 set`: how many are not as they begin. */
function setText(form: Form, fields: readonly Field[]): string {
  const set = fields.filter(
    ({ path }) => JSON.stringify(form.value(path)) !== JSON.stringify(newEndpoint[path]),
  );
  return set.length === 0 ? '' : `${set.length} set`;
}
