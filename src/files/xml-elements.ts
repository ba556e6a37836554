/**
 * Returns the texts of the children of every element of this name, by their own names, as far as these have no children themselves.
 * That is all that is read of the answers of a store.
 */
export async function xmlElements(
  xml: string,
  name: string,
): Promise<readonly ReadonlyMap<string, string>[]> {
  const { Parser } = await import('htmlparser2');
  const elements: Map<string, string>[] = [];
  const open: string[] = [];
  let text = '';
  const parser = new Parser(
    {
      onopentag: (tag) => {
        if (tag === name) elements.push(new Map());
        open.push(tag);
        text = '';
      },
      ontext: (part) => void (text += part),
      onclosetag: (tag) => {
        open.pop();
        if (open.at(-1) === name) elements.at(-1)?.set(tag, text.trim());
        text = '';
      },
    },
    { xmlMode: true },
  );
  parser.end(xml);
  return elements;
}
