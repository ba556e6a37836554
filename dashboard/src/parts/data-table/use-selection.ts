import { useState } from 'react';

interface State {
  readonly ids: ReadonlySet<string>;
  /** Where a range begins. */
  readonly anchor: string | undefined;
  /** Every row that the filter selects, seen or not. */
  readonly isAll: boolean;
}

interface RowWithId {
  readonly id: string;
}

const nothing: State = { ids: new Set(), anchor: undefined, isAll: false };

/** The rows that actions are for: one by one, a range with shift, those that are loaded, or all that match. */
export function useSelection(rows: readonly RowWithId[], scope: string) {
  const [state, setState] = useState(nothing);
  const [kept, setKept] = useState(scope);
  // Another filter selects other rows.
  if (kept !== scope) {
    setKept(scope);
    setState(nothing);
  }
  const toggle = (id: string, isRange: boolean): void => {
    setState(({ ids, anchor, isAll }) => {
      if (isAll)
        return {
          ids: new Set(rows.map((row) => row.id).filter((one) => one !== id)),
          anchor: id,
          isAll: false,
        };
      const next = new Set(ids);
      const isOn = !ids.has(id);
      for (const one of isRange && anchor !== undefined ? between(rows, anchor, id) : [id]) {
        if (isOn || isRange) next.add(one);
        else next.delete(one);
      }
      return { ids: next, anchor: id, isAll: false };
    });
  };
  return {
    ids: state.ids,
    isAll: state.isAll,
    count: state.ids.size,
    has: (id: string) => state.isAll || state.ids.has(id),
    toggle,
    /** Where a range begins that goes to the next row. */
    anchor: state.anchor,
    add: (ids: readonly string[]) =>
      setState((before) => ({ ...before, ids: new Set([...before.ids, ...ids]) })),
    toggleLoaded: () =>
      setState(
        state.isAll || (rows.length > 0 && state.ids.size >= rows.length)
          ? nothing
          : { ids: new Set(rows.map(({ id }) => id)), anchor: undefined, isAll: false },
      ),
    selectAll: () => setState({ ids: new Set(rows.map(({ id }) => id)), anchor: undefined, isAll: true }),
    clear: () => setState(nothing),
  };
}

export type Selection = ReturnType<typeof useSelection>;

function between(rows: readonly RowWithId[], from: string, to: string): readonly string[] {
  const [one, other] = [rows.findIndex(({ id }) => id === from), rows.findIndex(({ id }) => id === to)];
  if (one < 0 || other < 0) return [to];
  return rows.slice(Math.min(one, other), Math.max(one, other) + 1).map(({ id }) => id);
}
