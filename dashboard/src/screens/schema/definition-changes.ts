import type { Collection, Field } from '../../api/client.ts';
import { rulesOf, ruleTitles } from '../../api/definitions.ts';

/** What a change costs the database: docs/collections.md has the table. */
export type Cost = 'definition' | 'schema' | 'reads' | 'drops' | 'reshapes';

export interface DefinitionStep {
  readonly key: string;
  readonly title: string;
  readonly detail?: string;
  /** `loss`: data goes for good where records are affected. `warning`: something may not be as one thinks. */
  readonly tone: 'plain' | 'warning' | 'loss';
  readonly cost: Cost;
  /** Selects the stored records that it affects, by the names that they have now. Absent where none, or all, are. */
  readonly affects?: string;
  /** What happens to those, after their count. */
  readonly effect?: string;
}

/** Returns what leads from one definition to the other, in the order in which people think of it. */
export function stepsBetween(before: Collection, after: Collection): readonly DefinitionStep[] {
  if (after.type === 'view')
    return [...nameSteps(before, after), ...querySteps(before, after), ...ruleSteps(before, after)];
  return [
    ...nameSteps(before, after),
    ...fieldSteps(before, after),
    ...orderSteps(before, after),
    ...indexSteps(before, after),
    ...ruleSteps(before, after),
    ...optionSteps(before, after),
  ];
}

function nameSteps(before: Collection, after: Collection): readonly DefinitionStep[] {
  if (before.name === after.name) return [];
  return [
    {
      key: 'name',
      title: `Rename the collection from ${before.name} to ${after.name}`,
      detail: 'URLs and events use the new name. Records, indexes and rate limits are kept.',
      tone: 'warning',
      cost: 'schema',
    },
  ];
}

/** A view loses no data: its fields follow from its query. */
function querySteps(before: Collection, after: Collection): readonly DefinitionStep[] {
  if (before.viewQuery === after.viewQuery) return [];
  const names = after.fields.map(({ name }) => name).join(', ');
  return [
    { key: 'query', title: 'Change the query', detail: `Fields: ${names}`, tone: 'plain', cost: 'schema' },
  ];
}

function fieldSteps(before: Collection, after: Collection): readonly DefinitionStep[] {
  const dropped = before.fields.filter(({ id }) => !after.fields.some((field) => field.id === id));
  return [
    ...dropped.map(droppedStep),
    ...after.fields.flatMap((field) => {
      const was = before.fields.find(({ id }) => id === field.id);
      return was === undefined ? [newStep(field)] : changedSteps(was, field);
    }),
  ];
}

function droppedStep(field: Field): DefinitionStep {
  const affects = holdsSomething(field);
  return {
    key: `drop-${field.id}`,
    title: `Drop the field ${field.name}`,
    tone: 'loss',
    cost: 'drops',
    ...(affects !== undefined && { affects }),
    effect: 'permanently lose its value',
  };
}

function newStep(field: Field): DefinitionStep {
  const isRequired = 'required' in field && field.required;
  return {
    key: `new-${field.id}`,
    title: `Add the field ${field.name}, ${field.type}`,
    detail: isRequired
      ? 'Empty in existing records. Their next write must set a value.'
      : 'Empty in existing records.',
    tone: 'plain',
    cost: 'reads',
  };
}

function changedSteps(was: Field, field: Field): readonly DefinitionStep[] {
  return [...renamedSteps(was, field), ...shapeSteps(was, field), ...limitSteps(was, field)];
}

function renamedSteps(was: Field, field: Field): readonly DefinitionStep[] {
  if (was.name === field.name) return [];
  return [
    {
      key: `rename-${field.id}`,
      title: `Rename the field ${was.name} to ${field.name}`,
      detail: 'Data and indexes are kept. Clients must use the new name.',
      tone: 'plain',
      cost: 'schema',
    },
  ];
}

function shapeSteps(was: Field, field: Field): readonly DefinitionStep[] {
  if (!('maxSelect' in was) || !('maxSelect' in field)) return [];
  const [wasMany, isMany] = [was.maxSelect > 1, field.maxSelect > 1];
  if (wasMany === isMany) return [];
  if (isMany)
    return [
      {
        key: `many-${field.id}`,
        title: `${field.name}: one value becomes a list`,
        detail: 'Rewrites every record. The API returns a list instead of a text.',
        tone: 'warning',
        cost: 'reshapes',
      },
    ];
  return [
    {
      key: `one-${field.id}`,
      title: `${field.name}: a list becomes one value`,
      tone: 'loss',
      cost: 'reshapes',
      affects: `${was.name}:length > 1`,
      effect: 'keep their last value and permanently lose the others',
    },
  ];
}

/** Options: the next write of each record has to obey them; what is stored stays. */
function limitSteps(was: Field, field: Field): readonly DefinitionStep[] {
  const { id } = field;
  const steps: DefinitionStep[] = [];
  const names = changedOptions(was, field);
  if (was.type === 'select' && field.type === 'select')
    for (const value of was.values.filter((one) => !field.values.includes(one)))
      steps.push({
        key: `value-${id}-${value}`,
        title: `${field.name}: ${value} is no longer a choice`,
        tone: 'warning',
        cost: 'definition',
        affects: `${was.name}:each ?= ${quoted(value)}`,
        effect: 'have it and need another one at their next write',
      });
  const isNowRequired = 'required' in was && 'required' in field && !was.required && field.required;
  const held = holdsSomething(was);
  if (isNowRequired && held !== undefined)
    steps.push({
      key: `required-${id}`,
      title: `${field.name} becomes required`,
      tone: 'warning',
      cost: 'definition',
      affects: holdsNothing(was),
      effect: 'have no value and need one at their next write',
    });
  const others = names.filter((name) => !(name === 'required' && isNowRequired) && name !== 'maxSelect');
  if (others.length > 0)
    steps.push({
      key: `options-${id}`,
      title: `${field.name}: ${others.map((name) => optionText(field, name)).join(', ')}`,
      tone: 'plain',
      cost: 'definition',
    });
  return steps;
}

function changedOptions(was: Field, field: Field): readonly string[] {
  return Object.entries(field)
    .filter(
      ([name, value]) =>
        name !== 'name' &&
        JSON.stringify(value) !== JSON.stringify(Object.entries(was).find(([key]) => key === name)?.[1]),
    )
    .map(([name]) => name);
}

function optionText(field: Field, name: string): string {
  // Object.entries gives any.
  const value: unknown = Object.entries(field).find(([key]) => key === name)?.[1];
  return typeof value === 'boolean' ? (value ? name : `not ${name}`) : `${name} ${JSON.stringify(value)}`;
}

function orderSteps(before: Collection, after: Collection): readonly DefinitionStep[] {
  const common = (one: Collection, other: Collection): string =>
    one.fields
      .filter(({ id }) => other.fields.some((field) => field.id === id))
      .map(({ id }) => id)
      .join();
  if (common(before, after) === common(after, before)) return [];
  return [
    {
      key: 'order',
      title: 'Reorder the fields',
      detail: 'Records list their members in this order.',
      tone: 'plain',
      cost: 'definition',
    },
  ];
}

function indexSteps(before: Collection, after: Collection): readonly DefinitionStep[] {
  const renamed = before.indexes.map((text) => renamedIndex(text, before, after));
  const gone = before.indexes.filter((_, at) => !after.indexes.includes(renamed[at] ?? ''));
  const made = after.indexes.filter((text) => !renamed.includes(text));
  return [
    ...gone.map((text) => ({
      key: `index-gone-${text}`,
      title: 'Drop an index',
      detail: text,
      tone: 'plain' as const,
      cost: 'schema' as const,
    })),
    ...made.map((text) => {
      const isUnique = /^\s*CREATE\s+UNIQUE/i.test(text);
      return {
        key: `index-made-${text}`,
        title: isUnique ? 'Build a unique index' : 'Build an index',
        detail: isUnique ? `${text}. Rejected if records have equal values.` : text,
        tone: isUnique ? ('warning' as const) : ('plain' as const),
        cost: 'reads' as const,
      };
    }),
  ];
}

/** An index as it is once fields and the collection have their new names. */
function renamedIndex(text: string, before: Collection, after: Collection): string {
  const names = new Map(
    before.fields.map((field) => [field.name, after.fields.find(({ id }) => id === field.id)?.name]),
  );
  const [, head = '', rest = ''] = /^([\s\S]*?\bON\s+)`\w+`([\s\S]*)$/.exec(text) ?? [];
  if (head === '') return text;
  return `${head}\`${after.name}\`${rest.replaceAll(/`(\w+)`/g, (_, name: string) => `\`${names.get(name) ?? name}\``)}`;
}

function ruleSteps(before: Collection, after: Collection): readonly DefinitionStep[] {
  return rulesOf(after)
    .filter((name) => (before[name] ?? null) !== (after[name] ?? null))
    .map((name) => ({
      key: name,
      title: `${ruleTitles[name]} rule: ${ruleText(before[name])} → ${ruleText(after[name])}`,
      tone: after[name] === '' && name !== 'authRule' ? ('warning' as const) : ('plain' as const),
      cost: 'definition' as const,
    }));
}

function ruleText(rule: string | null | undefined): string {
  if (rule === null || rule === undefined) return 'superusers only';
  return rule === '' ? 'everyone' : rule;
}

const options = [
  ['passwordAuth', 'Sign-in with a password'],
  ['otp', 'One-time password'],
  ['mfa', 'Second factor'],
  ['authAlert', 'Sign-in alert'],
  ['webhooks', 'Webhooks of accounts'],
  ['authToken', 'Lifetime of sessions'],
  ['verificationToken', 'Lifetime of verifications'],
  ['passwordResetToken', 'Lifetime of password resets'],
  ['emailChangeToken', 'Lifetime of address changes'],
  ['fileToken', 'Lifetime of file tokens'],
  ['verificationTemplate', 'Mail: verification of an address'],
  ['resetPasswordTemplate', 'Mail: reset of a password'],
  ['confirmEmailChangeTemplate', 'Mail: change of an address'],
] as const;

function optionSteps(before: Collection, after: Collection): readonly DefinitionStep[] {
  return options
    .filter(([name]) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map(([name, title]) => ({ key: name, title, tone: 'plain', cost: 'definition' }));
}

/** A filter for the records that have a value in this field; undefined where filters cannot tell. */
function holdsSomething(field: Field): string | undefined {
  switch (field.type) {
    case 'password':
      return undefined;
    case 'number':
      return `${field.name} != 0`;
    case 'bool':
      return `${field.name} = true`;
    case 'json':
      return `${field.name} != null`;
    case 'geoPoint':
      return `${field.name}.lon != 0 || ${field.name}.lat != 0`;
    case 'select':
    case 'relation':
    case 'file':
      return field.maxSelect > 1 ? `${field.name}:length > 0` : `${field.name} != ''`;
    default:
      return `${field.name} != ''`;
  }
}

function holdsNothing(field: Field): string {
  switch (field.type) {
    case 'number':
      return `${field.name} = 0`;
    case 'bool':
      return `${field.name} = false`;
    case 'json':
      return `${field.name} = null`;
    case 'geoPoint':
      return `${field.name}.lon = 0 && ${field.name}.lat = 0`;
    case 'select':
    case 'relation':
    case 'file':
      return field.maxSelect > 1 ? `${field.name}:length = 0` : `${field.name} = ''`;
    default:
      return `${field.name} = ''`;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`\'`)}'`;
}

/** The rules of other collections that name what will be called differently, or be gone: their texts do not follow. */
export function rulesLeftBehind(
  before: Collection,
  after: Collection,
  collections: readonly Collection[],
): readonly string[] {
  const gone = before.fields
    .filter(({ id, name }) => after.fields.find((field) => field.id === id)?.name !== name)
    .map(({ name }) => name);
  const names = before.name === after.name ? gone : [...gone, before.name];
  if (names.length === 0) return [];
  const pattern = new RegExp(String.raw`\b(?:${names.join('|')})\b`);
  return collections
    .filter(({ id }) => id !== before.id)
    .flatMap((other) =>
      rulesOf(other)
        .filter((rule) => pattern.test(other[rule] ?? ''))
        .map((rule) => `${other.name}, ${ruleTitles[rule]}: ${other[rule] ?? ''}`),
    );
}
