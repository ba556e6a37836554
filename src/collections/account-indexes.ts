import { isIdentityIndex } from './is-identity-index.ts';
import type { IndexDefinition } from './index-definition.ts';

/**
 * Adds the indexes that every auth collection shows. Of the two the table has only that on `email`: token keys are not a column
 * of it, and as random texts never repeat.
 */
export function withAccountIndexes(
  collectionId: string,
  indexes: readonly IndexDefinition[],
): readonly IndexDefinition[] {
  const required = [unique('tokenKey', collectionId), unique('email', collectionId)];
  const missing = required.filter(
    ({ fieldName }) => !indexes.some((index) => isIdentityIndex(index, fieldName)),
  );
  return missing.length === 0 ? indexes : [...missing.map(({ index }) => index), ...indexes];
}

function unique(fieldName: 'tokenKey' | 'email', collectionId: string) {
  const index: IndexDefinition = {
    name: `idx_${fieldName}_${collectionId}`,
    isUnique: true,
    columns: [{ name: fieldName, isNocase: false, isDescending: false }],
    where: fieldName === 'email' ? [{ column: 'email', operator: '!=', value: '' }] : [],
  };
  return { fieldName, index };
}
