import { basePath } from '../api/client.ts';

const keyOf = (name: string): string => `chancery:${basePath}:draft:${name}`;

/** Returns what this tab has kept under a name. Other tabs keep their own, so what one saves takes nothing from another. */
export function readKept(name: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(name)) ?? 'null');
  } catch {
    // Forbidden, or written by something else.
    return null;
  }
}

/** Keeps a value over reloads until the tab is closed; `undefined` forgets it. */
export function keepInTab(name: string, value: unknown): void {
  try {
    if (value === undefined) sessionStorage.removeItem(keyOf(name));
    else sessionStorage.setItem(keyOf(name), JSON.stringify(value));
  } catch {
    // Full or forbidden: it then lasts as long as the screen.
  }
}
