import type { Updater } from '@tanstack/react-table';

/** Returns the state of a table after an update. */
export function resolveUpdate<Value>(update: Updater<Value>, current: Value): Value {
  // A state of a table is no function itself, which the type of an updater cannot say.
  return typeof update === 'function' ? (update as (value: Value) => Value)(current) : update;
}
