import type { Tuple } from '../storage/database.ts';

/** One way to write the rows of one table as it is defined now. */
export interface RowKind {
  /** Whether all rows of the last list were cached: then only the revisions are read. */
  isFilled: boolean;
}

/** Texts of one kind, by the position of their rows. */
type TextsOfKind = Map<number, RowText>;

/** Memory of an entry besides its text, in characters. */
const entryLength = 100;

/**
 * A cache of the JSON texts that an engine has made of rows. The engine then only returns the positions and
 * revisions of a list's rows, which show whether a text is current. No two rows of a table have the same
 * position, no two states of a row the same revision, and each way of writing rows is its own kind: so texts never have to be
 * invalidated. All kinds share two generations of `lengthMax` characters each; texts that are not used are dropped first.
 */
export class RowJsonCache {
  readonly #lengthMax: number;
  #young = new Map<RowKind, TextsOfKind>();
  #old = new Map<RowKind, TextsOfKind>();
  #length = 0;

  constructor({ lengthMax }: { readonly lengthMax: number }) {
    this.#lengthMax = lengthMax;
  }

  /** Returns the texts of rows of position and revision; undefined if any of them is not cached. */
  find(kind: RowKind, rows: readonly Tuple[]): readonly string[] | undefined {
    const texts: string[] = [];
    for (const row of rows) {
      const text = this.#find(kind, Number(row[0]), Number(row[1]));
      if (text === undefined) {
        kind.isFilled = false;
        return undefined;
      }
      texts.push(text);
    }
    return texts;
  }

  /** Returns the texts of rows of position, revision and text, and caches them. */
  keep(kind: RowKind, rows: readonly Tuple[]): readonly string[] {
    let unknown = 0;
    const texts = rows.map((row) => {
      const [position, revision] = [Number(row[0]), Number(row[1])];
      const cached = this.#find(kind, position, revision);
      if (cached !== undefined) return cached;
      unknown += 1;
      const text = String(row[2]);
      this.#add(kind, position, { revision, text });
      return text;
    });
    kind.isFilled = unknown === 0;
    return texts;
  }

  #find(kind: RowKind, position: number, revision: number): string | undefined {
    const young = this.#young.get(kind)?.get(position);
    if (young !== undefined) return young.revision === revision ? young.text : undefined;
    const old = this.#old.get(kind)?.get(position);
    if (old?.revision !== revision) return undefined;
    this.#add(kind, position, old);
    return old.text;
  }

  #add(kind: RowKind, position: number, row: RowText): void {
    const length = row.text.length + entryLength;
    // A few long texts would drive out all others.
    if (length > this.#lengthMax / 64) return;
    if (this.#length + length > this.#lengthMax) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#length = 0;
    }
    this.#length += length;
    const texts = this.#young.get(kind) ?? new Map<number, RowText>();
    this.#young.set(kind, texts);
    texts.set(position, row);
  }
}

/** A row as text, valid as long as the row has this revision. */
interface RowText {
  readonly revision: number;
  readonly text: string;
}

/** Texts of rows of all tables in this process: 8 MB per generation, if they are ASCII. */
export const rowJson = new RowJsonCache({ lengthMax: 8 * 1024 * 1024 });
