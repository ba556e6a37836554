import assert from 'node:assert/strict';
import { clientFlags, dataFlags, serverFlags, variableOf } from '../../src/config/config-flags.ts';

const flags = [...dataFlags, ...serverFlags, ...clientFlags];
/** Each variable that the service reads. The key has no flag: a command line is visible to everybody on the machine. */
const variables: ReadonlySet<string> = new Set([
  ...flags.map(({ name }) => variableOf(name)),
  'CHANCERY_KEY',
]);

/** Fails if a text sets or reads a variable that looks like one of the service's but is none. Returns those that it names. */
export function requireVariables(path: string, text: string): readonly string[] {
  const names = [...new Set(text.match(/\bCHANCERY_[A-Z\d_]*[A-Z\d]\b/g) ?? [])];
  for (const name of names) assert.ok(variables.has(name), `${path}: ${name} is no variable of the service`);
  return names;
}
