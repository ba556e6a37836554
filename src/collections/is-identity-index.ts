import type { IndexDefinition } from './index-definition.ts';

/** Whether the index makes all values of this field unique, except perhaps the empty one. */
export function isIdentityIndex({ isUnique, columns, where }: IndexDefinition, fieldName: string): boolean {
  if (!isUnique || columns.length !== 1 || columns[0]?.name !== fieldName) return false;
  return where.every(
    ({ column, operator, value }) => column === fieldName && operator === '!=' && value === '',
  );
}
