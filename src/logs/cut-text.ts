/** As much of a text as may stand in the log. Half a character would be no JSON to every engine. */
export function cutText(text: string, lengthMax: number): string {
  return text.length > lengthMax ? text.slice(0, lengthMax).toWellFormed() : text;
}
