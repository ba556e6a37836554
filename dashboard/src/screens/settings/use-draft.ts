import { useEffect, useState } from 'react';
import { basePath, Failure } from '../../api/client.ts';
import { useKeys } from '../../browser/keys.ts';
import { showToast } from '../../parts/toast.tsx';

/** Values by name, some of them groups of others. */
export type Values = Readonly<Record<string, unknown>>;

/** What is being changed. Members are named by their paths: `meta.appName`. */
export interface Draft {
  /** The value as it will be. */
  readonly value: (path: string) => unknown;
  readonly text: (path: string) => string;
  readonly number: (path: string) => number;
  readonly flag: (path: string) => boolean;
  /** Sets a member; `undefined` takes the change back. */
  readonly set: (path: string, value: unknown) => void;
  /** What the service says of a member. */
  readonly error: (path: string) => string | undefined;
  /** What it says of the items of a list, by their positions. */
  readonly itemErrors: (path: string) => readonly { readonly index: number; readonly message: string }[];
  /** Why saving failed, where it is about no member. */
  readonly failure: unknown;
  readonly isChanged: boolean;
  readonly isBusy: boolean;
  readonly save: () => void;
  readonly discard: () => void;
}

export interface DraftSource {
  /** The name under which the tab keeps what is not saved yet. */
  readonly name: string;
  readonly values: Values;
  /** Gets the changed members in the shape of the values. */
  readonly save: (changes: Values) => Promise<void>;
}

/**
 * Keeps changes apart from the values: only what was changed is sent, so that what others change meanwhile stays theirs. They are still
 * there after a reload or a look at another screen; secrets are not, as the browser must not keep those.
 */
export function useDraft({ name, values, save }: DraftSource): Draft {
  const [changes, setChanges] = useState<ReadonlyMap<string, unknown>>(() => readChanges(name));
  useEffect(() => writeChanges(name, changes), [name, changes]);
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const fields = failure instanceof Failure ? failure.fields : noErrors;
  const value = (path: string): unknown => (changes.has(path) ? changes.get(path) : read(values, path));
  const run = async (): Promise<void> => {
    if (changes.size === 0 || isBusy) return;
    setIsBusy(true);
    setFailure(undefined);
    try {
      await save(toTree(changes));
      setChanges(new Map());
      showToast('Saved.');
    } catch (error) {
      setFailure(error);
    }
    setIsBusy(false);
  };
  useKeys({
    'Mod+enter': () => void run(),
    'Mod+s': (event) => {
      event.preventDefault();
      void run();
    },
  });
  return {
    value,
    text: (path) => textOf(value(path)),
    number: (path) => Number(value(path)),
    flag: (path) => value(path) === true,
    set: (path, next) => setChanges(withChange(changes, values, { path, next })),
    error: (path) => fields.get(path),
    itemErrors: (path) => itemErrorsOf(fields, path),
    failure: fields.size === 0 ? failure : undefined,
    isChanged: changes.size > 0,
    isBusy,
    save: () => void run(),
    discard: () => {
      setChanges(new Map());
      setFailure(undefined);
    },
  };
}

const keyOf = (name: string): string => `chancery:${basePath}:draft:${name}`;

function isSecret(path: string): boolean {
  return /(?:^|\.)(?:password|secret)$/.test(path);
}

function readChanges(name: string): ReadonlyMap<string, unknown> {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(keyOf(name)) ?? '{}');
    return typeof kept === 'object' && kept !== null ? new Map(Object.entries(kept)) : new Map();
  } catch {
    // Forbidden, or written by something else.
    return new Map();
  }
}

function writeChanges(name: string, changes: ReadonlyMap<string, unknown>): void {
  const kept = [...changes].filter(([path]) => !isSecret(path));
  try {
    if (kept.length === 0) sessionStorage.removeItem(keyOf(name));
    else sessionStorage.setItem(keyOf(name), JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Full or forbidden: the draft then lasts as long as the screen.
  }
}

const noErrors: ReadonlyMap<string, string> = new Map();

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

/** A value that is again what it was is no change. */
function withChange(
  changes: ReadonlyMap<string, unknown>,
  values: Values,
  { path, next }: { readonly path: string; readonly next: unknown },
): ReadonlyMap<string, unknown> {
  const changed = new Map(changes);
  if (next === undefined || JSON.stringify(next) === JSON.stringify(read(values, path))) changed.delete(path);
  else changed.set(path, next);
  return changed;
}

function read(values: unknown, path: string): unknown {
  let value = values;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    // What an object has under a name is unknown to the compiler.
    value = (value as Values)[name];
  }
  return value;
}

interface Tree {
  [name: string]: unknown;
}

function toTree(changes: ReadonlyMap<string, unknown>): Values {
  const tree: Tree = {};
  for (const [path, value] of changes) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let place = tree;
    for (const name of names) {
      // Only this loop makes members that have members.
      place = (place[name] ??= {}) as Tree;
    }
    place[last] = value;
  }
  return tree;
}

function itemErrorsOf(fields: ReadonlyMap<string, string>, path: string) {
  return [...fields]
    .filter(([name]) => name.startsWith(`${path}.`))
    .map(([name, message]) => ({ index: Number.parseInt(name.slice(path.length + 1), 10), message }));
}
