import { client, type Field } from '../../api/client.ts';

/** The condition that selects the records with the same value, or all others. Of several values, each has to be there. */
export function cellCondition(field: Field, value: unknown, isExcluded: boolean): string {
  const { name } = field;
  const [same, join] = isExcluded ? ['!=', ' && '] : ['=', ' && '];
  if (Array.isArray(value)) {
    if (value.length === 0) return `${name}:length ${same} 0`;
    const any = isExcluded ? '!~' : '~';
    return value.map((one) => client.filter(`${name} ${any} {:one}`, { one: String(one) })).join(join);
  }
  if (value === null || value === undefined) return `${name} ${same} null`;
  if (field.type === 'geoPoint' && typeof value === 'object' && 'lon' in value && 'lat' in value) {
    const both = `${name}.lon = ${String(value.lon)} && ${name}.lat = ${String(value.lat)}`;
    return isExcluded ? `(${name}.lon != ${String(value.lon)} || ${name}.lat != ${String(value.lat)})` : both;
  }
  if (typeof value === 'number' || typeof value === 'boolean') return `${name} ${same} ${String(value)}`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return client.filter(`${name} ${same} {:text}`, { text });
}
