import { AppError } from '../base/errors.ts';

/**
 * Makes the refusal of a filter. `problem` comes without its full stop; `position` is the offset of the culprit in the text, in UTF-16
 * units from 0. Both the message and `details.filter` contain it, so that a form can put its cursor there.
 */
export function filterError(problem: string, position: number): AppError {
  return refusal('filter', problem, position);
}

/** Makes the refusal of a sort, with `details.sort`. */
export function sortError(problem: string, position: number): AppError {
  return refusal('sort', problem, position);
}

/** Quotes a client's text for a message, cut to `shownMax`. A cut through a surrogate pair is repaired. */
export function quote(text: string): string {
  const shown = text.length <= shownMax ? text : `${text.slice(0, shownMax)}…`;
  return `"${shown.toWellFormed()}"`;
}

const shownMax = 60;

function refusal(name: 'filter' | 'sort', problem: string, position: number): AppError {
  const message = `${problem} at position ${position}.`;
  const error = { code: `validation_invalid_${name}`, message, params: { position } };
  return new AppError('bad_request', message, { details: { [name]: error } });
}
