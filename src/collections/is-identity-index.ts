import type { IndexDefinition } from './index-definition.ts';

/** Unique among all values of the field but the empty one. */
export function isIdentityIndex({ isUnique, columns, where }: IndexDefinition, fieldName: string): boolean {
  if (!isUnique || columns.length !== 1 || columns[0]?.name !== fieldName) return false;
  return where.every(
    ({ column, operator, value }) => column === fieldName && operator === '!=' && value === '',
  );
}
