import type { Tuple } from '../storage/database.ts';

/** What is known of a row's text: it is right as long as the row has this revision. */
interface RowText {
  readonly revision: number;
  readonly text: string;
}

/** Texts of one kind, by the position of their rows. */
type TextsOfKind = Map<number, RowText>;

/** What an entry takes beside its text, in characters. */
const entryLength = 100;

/**
 * Texts that an engine has made of rows, so that it need not make them again: it is asked for the positions and revisions of a
 * list's rows, and these say whether a text is still what it would write now. No two rows of a table ever have the same position, no
 * two states of a row the same revision, and each way of writing rows is a kind of its own, so a text never has to be taken back.
 *
 * All kinds share a length: two generations of `lengthMax` characters each, of which what nobody asks for goes first.
 */
export class RowTexts {
  readonly #lengthMax: number;
  /** By kind: any object that stands for a way of writing rows, and that other rows do not share. */
  #young = new Map<object, TextsOfKind>();
  #old = new Map<object, TextsOfKind>();
  #length = 0;
  readonly #warm = new WeakSet();

  constructor({ lengthMax }: { readonly lengthMax: number }) {
    this.#lengthMax = lengthMax;
  }

  /** Whether all texts of the last list of this kind were known: then it is worth asking for no more than revisions. */
  isWarm(kind: object): boolean {
    return this.#warm.has(kind);
  }

  /** The texts of rows, each told by its position and revision; undefined where one is not known. */
  find(kind: object, rows: readonly Tuple[]): readonly string[] | undefined {
    const texts: string[] = [];
    for (const row of rows) {
      const text = this.#find(kind, Number(row[0]), Number(row[1]));
      if (text === undefined) {
        this.#warm.delete(kind);
        return undefined;
      }
      texts.push(text);
    }
    return texts;
  }

  /** The texts of rows that come with them, behind position and revision, to be found by these from now on. */
  keep(kind: object, rows: readonly Tuple[]): readonly string[] {
    let unknown = 0;
    const texts = rows.map(([position, revision, written]) => {
      const text = String(written);
      if (this.#find(kind, Number(position), Number(revision)) === undefined) {
        unknown += 1;
        this.#add(kind, Number(position), { revision: Number(revision), text });
      }
      return text;
    });
    if (unknown === 0) this.#warm.add(kind);
    else this.#warm.delete(kind);
    return texts;
  }

  #find(kind: object, position: number, revision: number): string | undefined {
    const young = this.#young.get(kind)?.get(position);
    if (young !== undefined) return young.revision === revision ? young.text : undefined;
    const old = this.#old.get(kind)?.get(position);
    if (old?.revision !== revision) return undefined;
    this.#add(kind, position, old);
    return old.text;
  }

  #add(kind: object, position: number, row: RowText): void {
    const length = row.text.length + entryLength;
    // A few long ones would drive out all others.
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
