import type { CollectionName } from './collections.ts';
import { toValues, type Intent, type Values } from './exchange.ts';

const zeros: Readonly<Record<CollectionName, Values>> = {
  authors: { name: '', note: '' },
  posts: { slug: '', author: '', views: 0, tags: [], open: false, label: '', note: '' },
  comments: { post: '', by: [], note: '' },
};

/** What a write makes of a record, all but its times. */
export function applyIntent({ collection, id, body }: Intent, before: Values | undefined): Values {
  const values: Record<string, unknown> = { ...(before ?? zeros[collection]), id };
  for (const [name, value] of Object.entries(toValues(body))) {
    const field = name.slice(0, -1);
    if (name.endsWith('+')) values[field] = added(values[field], value);
    else if (name.endsWith('-')) values[field] = removed(values[field], value);
    else values[name] = value;
  }
  return values;
}

function added(before: unknown, value: unknown): unknown {
  if (!Array.isArray(before)) return Number(before) + Number(value);
  return before.includes(value) ? before : [...before, value];
}

function removed(before: unknown, value: unknown): unknown {
  return Array.isArray(before) ? before.filter((each) => each !== value) : Number(before) - Number(value);
}
