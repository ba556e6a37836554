import type { FieldError, FieldErrors } from '../../base/errors.ts';

/** One kind of problem that an import reports to the operator, with examples. */
export interface Omission {
  /** `left out` was not imported; `to look at` was, but the operator must check it. */
  readonly kind: 'left out' | 'to look at';
  /** A collection, or another part of the source. */
  readonly of: string;
  readonly what: string;
  readonly why: string;
  readonly count: number;
  /** Ids of the first few records. */
  readonly examples: readonly string[];
}

export interface NewOmission {
  /** `left out` when absent. */
  readonly kind?: Omission['kind'];
  readonly of: string;
  readonly what: string;
  readonly why: string;
  readonly record?: string;
}

const examplesMax = 5;
/** Limits kinds, not records: only a contrived source has more. */
const kindsMax = 1_000;

/** Collects omissions. Equal ones are counted as one kind, however many records they concern. */
export class Omissions {
  readonly #kinds = new Map<
    string,
    { readonly omission: NewOmission; readonly examples: string[]; count: number }
  >();

  /** How many omissions were of kinds beyond `kindsMax`. */
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
    const omissions = [...this.#kinds.values()].map(
      ({ omission: { kind = 'left out', of, what, why }, count, examples }) => ({
        kind,
        of,
        what,
        why,
        count,
        examples,
      }),
    );
    return this.#others === 0 ? omissions : [...omissions, omissionOfOthers(this.#others)];
  }
}

function omissionOfOthers(count: number): Omission {
  const why = `Only ${kindsMax.toLocaleString('en')} kinds are listed.`;
  return { kind: 'left out', of: 'the source', what: 'more', why, count, examples: [] };
}

/** A problem and its path: names of members and numbers of items, from the outside in. */
export interface ProblemPlace {
  readonly path: readonly string[];
  readonly error: FieldError;
}

/** Flattens nested errors into a list of problems with their paths. */
export function problemPlaces(errors: FieldErrors, path: readonly string[] = []): readonly ProblemPlace[] {
  return Object.entries(errors).flatMap(([name, error]) =>
    isFieldError(error) ? [{ path: [...path, name], error }] : problemPlaces(error, [...path, name]),
  );
}

function isFieldError(error: FieldError | FieldErrors): error is FieldError {
  return typeof error.code === 'string';
}
