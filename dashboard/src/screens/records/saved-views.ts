import { basePath } from '../../api/client.ts';
import { readText, useText, writeText } from '../../browser/preferences.ts';

/** A filter, an order and columns, as the address of a table has them. */
export interface TableView {
  readonly filter: string;
  readonly sort: string;
  readonly columns: string;
}

export interface SavedView extends TableView {
  readonly name: string;
}

const viewsMax = 50;
export const viewNameMax = 60;

/** The named views of a collection, by name. Kept in this browser. */
export function useSavedViews(collectionId: string) {
  const key = `chancery:${basePath}:views:${collectionId}`;
  const views = decodeViews(useText(key));
  const store = (next: readonly SavedView[]): void => {
    const text = JSON.stringify(next.toSorted((one, other) => one.name.localeCompare(other.name)));
    writeText(key, text);
    if (readText(key) !== text)
      throw new Error('The browser did not save this: its storage is full or blocked.');
  };
  /** Throws with the reason why a view cannot have this name. */
  const requireFree = (name: string): void => {
    if (name === '') throw new Error('Enter a name.');
    if (views.some((view) => view.name === name)) throw new Error(`There is already a view ${name}.`);
  };
  return {
    views,
    add: (view: SavedView): void => {
      requireFree(view.name);
      if (views.length >= viewsMax)
        throw new Error(`At most ${viewsMax} views can be saved. Delete one first.`);
      store([...views, view]);
    },
    rename: (name: string, to: string): void => {
      if (name === to) return;
      requireFree(to);
      store(views.map((view) => (view.name === name ? { ...view, name: to } : view)));
    },
    remove: (name: string): void => store(views.filter((view) => view.name !== name)),
  };
}

/** What another version or a person has written and is no view is left out. */
function decodeViews(text: string | null): readonly SavedView[] {
  if (text === null) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter(isView).slice(0, viewsMax) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is SavedView {
  const members = ['name', 'filter', 'sort', 'columns'];
  if (typeof value !== 'object' || value === null) return false;
  const entries = new Map<string, unknown>(Object.entries(value));
  return members.every((member) => typeof entries.get(member) === 'string');
}
