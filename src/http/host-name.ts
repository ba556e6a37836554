import { GenerationMap } from '../base/generation-map.ts';

const HOST = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::(\d{1,5}))?$/i;
const portMax = 65_535;

/** Names already parsed, by the text of the header: most requests name one of a few hosts. */
const known = new GenerationMap<string, string>(1_000);

/** Returns the name or address in a Host header, in lower case and without port; undefined if invalid (RFC 9112 section 3.2). */
export function hostName(header: string): string | undefined {
  const found = known.find(header);
  if (found !== undefined) return found;
  const match = HOST.exec(header);
  if (match === null || Number(match[1] ?? 0) > portMax) return undefined;
  const name = nameIn(header.toLowerCase());
  known.add(header, name);
  return name;
}

function nameIn(host: string): string {
  const colon = host.lastIndexOf(':');
  const name = colon > host.lastIndexOf(']') ? host.slice(0, colon) : host;
  // `a.example.` is the full form of `a.example` (RFC 1034 section 3.1), and the same instance.
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
