import { AppError, type FieldError, type FieldErrors } from '../base/errors.ts';
import type { Problems } from '../fields/field-type.ts';

/** Collects the problems of a definition, to report all of them at once. The first problem of a name is kept. */
export class ProblemList implements Problems {
  readonly #errors = new Map<string, FieldError | FieldErrors>();

  add(name: string, error: FieldError | FieldErrors): void {
    if (!this.#errors.has(name)) this.#errors.set(name, error);
  }

  get isEmpty(): boolean {
    return this.#errors.size === 0;
  }

  toErrors(): FieldErrors {
    return Object.fromEntries(this.#errors);
  }

  /** Puts the problems of a member (a field, an index) under its name, if there are any. */
  addAll(name: string, members: ProblemList): void {
    if (!members.isEmpty) this.add(name, members.toErrors());
  }

  throwIfAny(message: string): void {
    if (!this.isEmpty) throw new AppError('bad_request', message, { details: this.toErrors() });
  }
}
