import { readFileSync } from 'node:fs';

// The cast holds: the file is ours.
const spec = JSON.parse(readFileSync(new URL('../../spec/csv-cells.json', import.meta.url), 'utf8')) as {
  readonly cells: readonly (readonly [text: string, cell: string])[];
};

/** Texts and the cells that stand for them, which the command line and the dashboard write alike. */
export const csvCells = spec.cells;
