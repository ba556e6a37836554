import { AppError } from '../base/errors.ts';

/**
 * The refusal of a filter: `problem` without its full stop, `position` the offset of the culprit in the text, in UTF-16
 * units from 0. The message and `details.filter` both say it, so that a form can put its cursor there.
 */
export function filterError(problem: string, position: number): AppError {
  return refusal('filter', problem, position);
}

/** The refusal of a sort, with `details.sort`. */
export function sortError(problem: string, position: number): AppError {
  return refusal('sort', problem, position);
}

/** A text of the client inside a message: quoted, and cut where it would drown the sentence, even between two surrogates. */
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
