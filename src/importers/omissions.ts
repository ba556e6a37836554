/** What an import tells the operator of: one line for a kind of thing, with examples. */
export interface Omission {
  /** What it could not carry over, or what is there all the same and for somebody to see to. */
  readonly kind: 'left out' | 'to look at';
  /** A collection, or another part of the source. */
  readonly of: string;
  readonly what: string;
  readonly why: string;
  readonly count: number;
  /** Ids of records, the first few. */
  readonly examples: readonly string[];
}

export interface NewOmission {
  /** `left out` where nothing else is said. */
  readonly kind?: Omission['kind'];
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

  /** How many were of kinds that are not told. */
  #others = 0;

  add(omission: NewOmission): void {
    const key = JSON.stringify([omission.kind, omission.of, omission.what, omission.why]);
    let kind = this.#kinds.get(key);
    if (kind === undefined) {
      if (this.#kinds.size >= kindsMax) {
        this.#others += 1;
        return;
      }
      this.#kinds.set(key, (kind = { omission, examples: [], count: 0 }));
    }
    kind.count += 1;
    if (omission.record !== undefined && kind.examples.length < examplesMax)
      kind.examples.push(omission.record);
  }

  addAll(others: Omissions): void {
    this.#others += others.#others;
    for (const [key, kind] of others.#kinds) {
      if (this.#kinds.has(key)) continue;
      if (this.#kinds.size >= kindsMax) this.#others += kind.count;
      else this.#kinds.set(key, kind);
    }
  }

  all(): readonly Omission[] {
    const told = [...this.#kinds.values()].map(
      ({ omission: { kind = 'left out', of, what, why }, count, examples }) => ({
        kind,
        of,
        what,
        why,
        count,
        examples,
      }),
    );
    return this.#others === 0 ? told : [...told, untold(this.#others)];
  }
}

function untold(count: number): Omission {
  const why = `Only ${kindsMax.toLocaleString('en')} kinds are told one by one.`;
  return { kind: 'left out', of: 'the source', what: 'more', why, count, examples: [] };
}
