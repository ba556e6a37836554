/** What an import could not carry over, as the operator reads it: one line for a kind of thing, with examples. */
export interface Omission {
  /** A collection, or another part of the source. */
  readonly of: string;
  readonly what: string;
  readonly why: string;
  readonly count: number;
  /** Ids of records, the first few. */
  readonly examples: readonly string[];
}

export interface NewOmission {
  readonly of: string;
  readonly what: string;
  readonly why: string;
  readonly record?: string;
}

const examplesMax = 5;
/** Kinds, not records: a source that is made to have more tells nothing that the first ones do not. */
const kindsMax = 1_000;

/** Collects them: equal ones are one, however many records they are about. */
export class Omissions {
  readonly #kinds = new Map<
    string,
    { readonly omission: NewOmission; readonly examples: string[]; count: number }
  >();

  add(omission: NewOmission): void {
    const key = JSON.stringify([omission.of, omission.what, omission.why]);
    let kind = this.#kinds.get(key);
    if (kind === undefined) {
      if (this.#kinds.size >= kindsMax) return;
      this.#kinds.set(key, (kind = { omission, examples: [], count: 0 }));
    }
    kind.count += 1;
    if (omission.record !== undefined && kind.examples.length < examplesMax)
      kind.examples.push(omission.record);
  }

  addAll(others: Omissions): void {
    for (const [key, kind] of others.#kinds) if (!this.#kinds.has(key)) this.#kinds.set(key, kind);
  }

  all(): readonly Omission[] {
    return [...this.#kinds.values()].map(({ omission: { of, what, why }, count, examples }) => ({
      of,
      what,
      why,
      count,
      examples,
    }));
  }
}
