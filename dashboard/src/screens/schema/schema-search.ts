import { isRuleName, type RuleName } from '../../api/definitions.ts';
import type { TestSearch } from './rule-tester.tsx';

/** What the address of a schema holds: the rule that a link is about, or the test that is open. */
export interface SchemaSearch extends TestSearch {
  readonly rule?: RuleName;
}

export function decodeSchemaSearch(search: Readonly<Record<string, unknown>>): SchemaSearch {
  const { rule, test, as, on } = search;
  return {
    ...(isRuleName(rule) && { rule }),
    ...(isRuleName(test) && { test }),
    ...(typeof as === 'string' && as !== '' && { as }),
    ...(typeof on === 'string' && on !== '' && { on }),
  };
}
