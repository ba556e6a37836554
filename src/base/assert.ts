/** Thrown for a bug in the program, never for a client's request. */
export class AssertionFailed extends Error {
  override readonly name = 'AssertionFailed';
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(message);
}

/** Ends a switch over a closed union: the type checker refuses the call while a case is missing. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`unreachable: ${JSON.stringify(value)}`);
}
