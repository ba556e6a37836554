import assert from 'node:assert/strict';

/** Asserts that every member that a page shows is there, and every item of its lists. */
export function assertShown(actual: unknown, shown: unknown, where: string): void {
  if (typeof shown !== 'object' || shown === null) return assert.equal(actual, shown, where);
  assert.ok(typeof actual === 'object' && actual !== null, where);
  if (Array.isArray(shown))
    assert.equal(Array.isArray(actual) ? actual.length : undefined, shown.length, where);
  const members = new Map<string, unknown>(Object.entries(actual));
  for (const [name, value] of Object.entries(shown))
    assertShown(members.get(name), value, `${where} ${name}`);
}
