import { type Collection, client } from '../../api/client.ts';
import { isExpression } from '../../api/expressions.ts';

const searched: ReadonlySet<string> = new Set(['text', 'email', 'url', 'editor', 'select']);

/** Returns the filter for what was typed. A plain text is looked for in every field that holds texts, the id among them. */
export function toFilter({ fields }: Collection, text: string): string {
  const wanted = text.trim();
  if (wanted === '' || isExpression(wanted)) return wanted;
  const names = fields.filter(
    ({ type, name, hidden }) => searched.has(type) && !(hidden && name === 'tokenKey'),
  );
  return names.map(({ name }) => client.filter(`${name} ~ {:wanted}`, { wanted })).join(' || ');
}

/** The place of an error in an expression, which the service tells with it: `… at position 6.` */
export function errorPosition(message: string): number | undefined {
  const [, digits] = /\bat position (\d+)/.exec(message) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
