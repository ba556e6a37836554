import { fieldError } from '../fields/field-error.ts';
import type { Field } from '../fields/field.ts';
import type { Collection } from './collection.ts';
import type { ProblemList } from './problem-list.ts';

export interface RelationContext {
  /** The id of the collection that the field belongs to. */
  readonly id: string;
  readonly existing?: Collection;
  readonly others: readonly Collection[];
}

/**
 * Checks that a relation leads to a collection that exists, perhaps its own, and that an update does not change which one: in
 * another collection the stored ids would mean nothing, or other records.
 */
export function checkRelation(field: Field, context: RelationContext, problems: ProblemList): void {
  const { collectionId } = field.options;
  const was = context.existing?.fields.find((other) => other.id === field.id);
  if (was?.type === 'relation' && was.options['collectionId'] !== collectionId)
    problems.add('collectionId', fieldError('validation_field_relation_change'));
  if (collectionId !== context.id && !context.others.some(({ id }) => id === collectionId))
    problems.add('collectionId', fieldError('validation_field_relation_missing_collection'));
}
