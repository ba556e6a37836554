import { textDigest } from '../base/text.ts';
import type { Tuple } from '../storage/database.ts';

/** Objects whose identity tells kinds of texts and of queries apart. */
export interface RowKind {
  /** Stands for one way to write the rows of one table as it is defined now. */
  readonly kind: object;
  /** Stands for one query for such rows: what one query finds says nothing about others. */
  readonly asker: object;
}

/** Texts of one kind, by the position of their rows. */
type TextsOfKind = Map<number, RowText>;

/** Memory of an entry besides its text, in characters. */
const entryLength = 100;

/**
 * Texts that an engine has made of rows, kept so that it need not make them again. The engine is only asked for the positions and
 * revisions of a list's rows, which tell whether a text is still what it would write now. No two rows of a table have the same
 * position, no two states of a row the same revision, and each way of writing rows is its own kind: so texts never have to be
 * invalidated. All kinds share two generations of `lengthMax` characters each; texts that are not asked for are dropped first.
 */
export class RowJsonCache {
  readonly #lengthMax: number;
  #young = new Map<object, TextsOfKind>();
  #old = new Map<object, TextsOfKind>();
  #length = 0;
  readonly #warm = new WeakSet();

  constructor({ lengthMax }: { readonly lengthMax: number }) {
    this.#lengthMax = lengthMax;
  }

  /** Whether all rows of this query were known the last time: then it is worth asking for revisions only. */
  isFilled({ asker }: RowKind): boolean {
    return this.#warm.has(asker);
  }

  /** Returns the texts of rows, which are given as position and revision; undefined if any of them is unknown. */
  find({ kind, asker }: RowKind, rows: readonly Tuple[]): readonly RowText[] | undefined {
    const texts: RowText[] = [];
    for (const row of rows) {
      const text = this.#find(kind, Number(row[0]), Number(row[1]));
      if (text === undefined) {
        this.#warm.delete(asker);
        return undefined;
      }
      texts.push(text);
    }
    return texts;
  }

  /** Returns the texts of rows, which are given as position, revision and text, and remembers them. */
  keep({ kind, asker }: RowKind, rows: readonly Tuple[]): readonly RowText[] {
    let unknown = 0;
    const texts = rows.map((row) => {
      const [position, revision] = [Number(row[0]), Number(row[1])];
      const known = this.#find(kind, position, revision);
      if (known !== undefined) return known;
      unknown += 1;
      const text = new RowText(revision, String(row[2]));
      this.#add(kind, position, text);
      return text;
    });
    if (unknown === 0) this.#warm.add(asker);
    else this.#warm.delete(asker);
    return texts;
  }

  #find(kind: object, position: number, revision: number): RowText | undefined {
    const young = this.#young.get(kind)?.get(position);
    if (young !== undefined) return young.revision === revision ? young : undefined;
    const old = this.#old.get(kind)?.get(position);
    if (old?.revision !== revision) return undefined;
    this.#add(kind, position, old);
    return old;
  }

  #add(kind: object, position: number, row: RowText): void {
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
export class RowText {
  readonly revision: number;
  readonly text: string;
  #digest: string | undefined;

  constructor(revision: number, text: string) {
    this.revision = revision;
    this.text = text;
  }

  /** The digest of the text, computed once, however often the text is sent. */
  get digest(): string {
    return (this.#digest ??= textDigest(this.text));
  }
}

/** Texts of rows of all tables in this process: 8 MB per generation, if they are ASCII. */
export const rowJson = new RowJsonCache({ lengthMax: 8 * 1024 * 1024 });
