/** Cuts a text to the length allowed in the log. A surrogate that is cut in half is replaced, as not every engine takes it as JSON. */
export function cutText(text: string, lengthMax: number): string {
  return text.length > lengthMax ? text.slice(0, lengthMax).toWellFormed() : text;
}
