import { basePath } from '../../api/client.ts';
import { useText, writeText } from '../../browser/preferences.ts';

const filtersMax = 20;

/** The last filters that selected something in a collection, newest first. Kept on this machine. */
export function useFilterHistory(collectionId: string) {
  const key = `chancery:${basePath}:filters:${collectionId}`;
  const filters = decode(useText(key));
  return {
    filters,
    add: (filter: string): void => {
      if (filter === '' || filters[0] === filter) return;
      const next = [filter, ...filters.filter((one) => one !== filter)].slice(0, filtersMax);
      writeText(key, JSON.stringify(next));
    },
  };
}

function decode(text: string | null): readonly string[] {
  if (text === null) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}
