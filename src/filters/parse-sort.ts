import { quote, sortError } from './filter-error.ts';
import { filterLimits } from './filter-limits.ts';

export interface SortKey {
  /** A path as in a filter, `@rowid` or `@random`. */
  readonly name: string;
  readonly isDescending: boolean;
  /** The offset of the name in the text, in UTF-16 units from 0. */
  readonly position: number;
}

/** Parses `-created,+title,author`; blanks around keys are allowed, and the first key counts most. Throws a sort error. */
export function parseSort(text: string): readonly SortKey[] {
  const keys: SortKey[] = [];
  let start = 0;
  for (;;) {
    const comma = text.indexOf(',', start);
    if (keys.length === filterLimits.sortKeysMax)
      throw sortError(`Expected at most ${filterLimits.sortKeysMax} sort keys; one more`, start);
    keys.push(toSortKey(text.slice(start, comma === -1 ? text.length : comma), start));
    if (comma === -1) return keys;
    start = comma + 1;
  }
}

function toSortKey(item: string, start: number): SortKey {
  const trimmed = item.trim();
  const position = start + item.indexOf(trimmed);
  const hasSign = trimmed.startsWith('-') || trimmed.startsWith('+');
  const name = hasSign ? trimmed.slice(1) : trimmed;
  if (name.length > filterLimits.sortKeyLengthMax) {
    throw sortError(
      `Expected at most ${filterLimits.sortKeyLengthMax} characters in a sort key; a longer one`,
      position,
    );
  }
  // The identifiers of scan.ts; a key is one of them and nothing else.
  if (!/^(?:[A-Za-z]|[@_#](?=[A-Za-z0-9_.:]))[A-Za-z0-9_.:]*$/.test(name) || /[.:]$/.test(name)) {
    const found = name === '' ? 'nothing' : quote(name);
    throw sortError(`Expected the name of a field and found ${found}`, position + (hasSign ? 1 : 0));
  }
  return { name, isDescending: trimmed.startsWith('-'), position: position + (hasSign ? 1 : 0) };
}
