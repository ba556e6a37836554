import type { Collection } from '../collections/collection.ts';
import { chosenTexts } from '../fields/chosen-texts.ts';
import type { Field } from '../fields/field.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { RelationOptions } from '../fields/relation-field.ts';

/** A field that refers to records, with its place among the collection's fields. */
export interface RelationPlace {
  readonly index: number;
  readonly field: Field;
  readonly options: RelationOptions;
}

/** Kept per definition: each delete asks for the relations of every collection of its instance. */
const known = new WeakMap<Collection, readonly RelationPlace[]>();

export function relationsOf(collection: Collection): readonly RelationPlace[] {
  const found = known.get(collection);
  if (found !== undefined) return found;
  const places = collection.fields.flatMap((field, index) => {
    if (field.type !== 'relation') return [];
    // A field's options were made by its type.
    return [{ index, field, options: field.options as RelationOptions }];
  });
  known.set(collection, places);
  return places;
}

/** Returns the ids in a stored value, which was checked before it was stored. */
export function relatedIds({ options }: RelationPlace, stored: StoredValue): readonly string[] {
  return chosenTexts.read(stored, options) ?? [];
}
