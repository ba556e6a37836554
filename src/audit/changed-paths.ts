import { isJsonObject } from '../base/json.ts';

/** Returns the paths where two values of the same shape differ, as `smtp.host`: names, never values. Lists are compared as a whole. */
export function changedPaths(before: unknown, after: unknown, at = ''): readonly string[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) =>
      changedPaths(before[name], after[name], at === '' ? name : `${at}.${name}`),
    );
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [at];
}
