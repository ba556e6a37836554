import { flushSync } from 'react-dom';

interface Writing {
  /** Sets the state that holds the text of the input. */
  readonly write: () => void;
  /** What is selected then; a caret where both are the same. */
  readonly start: number;
  readonly end: number;
}

/**
 * Writes into an input and moves its caret, both before the next key is heard. A frame later, a key that was pressed meanwhile would stand
 * behind the caret, and what follows before it.
 */
export function writeText(
  input: HTMLInputElement | HTMLTextAreaElement | null,
  { write, start, end }: Writing,
): void {
  flushSync(write);
  input?.focus();
  input?.setSelectionRange(start, end);
}
