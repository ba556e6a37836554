import { RowTexts } from './row-texts.ts';

/** Texts of rows of all tables in this process: 8 MB per generation, if they are ASCII. */
export const knownRows = new RowTexts({ lengthMax: 8 * 1024 * 1024 });
