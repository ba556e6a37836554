import { RowTexts } from './row-texts.ts';

/** Of all tables of this process together: 8 MB of texts a generation, if they are ASCII. */
export const knownRows = new RowTexts({ lengthMax: 8 * 1024 * 1024 });
