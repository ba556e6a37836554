import { useSyncExternalStore } from 'react';

/**
 * What a person has chosen on this machine. Each is a text under a key of its own in localStorage, so that two tabs do not undo each
 * other's choices; another tab shows a change at once.
 */
export interface Preference<Value> {
  readonly key: string;
  readonly fallback: Value;
  readonly decode: (text: string) => Value | undefined;
}

/** One of some words. */
export function choicePreference<Value extends string>(
  key: string,
  values: readonly [Value, ...Value[]],
): Preference<Value> {
  const [fallback] = values;
  return { key, fallback, decode: (text) => values.find((value) => value === text) };
}

const changes = new EventTarget();

/** Sets a preference; `undefined` forgets it. */
export function writeText(key: string, text: string | undefined): void {
  try {
    if (text === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    // Full or forbidden: the choice then lasts as long as the page.
  }
  changes.dispatchEvent(new Event('change'));
}

export function readText(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** The text under a key, current also when another tab changes it. */
export function useText(key: string): string | null {
  return useSyncExternalStore(subscribe, () => readText(key));
}

export function usePreference<Value>(preference: Preference<Value>): Value {
  const text = useText(preference.key);
  return (text === null ? undefined : preference.decode(text)) ?? preference.fallback;
}

function subscribe(listener: () => void): () => void {
  changes.addEventListener('change', listener);
  window.addEventListener('storage', listener);
  return () => {
    changes.removeEventListener('change', listener);
    window.removeEventListener('storage', listener);
  };
}
