const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const PARAMETER = new RegExp(`\\s*;\\s*(${TOKEN})=(?:"((?:[^"\\\\]|\\\\.)*)"|(${TOKEN}))`, 'y');

/**
 * Returns the parameters of a header's value, after what comes before the first `;`, by name in lower case. Returns undefined where
 * one is malformed or given twice: servers disagree about what that means.
 */
export function parseParameters(header: string): ReadonlyMap<string, string> | undefined {
  const parameters = new Map<string, string>();
  const start = header.indexOf(';');
  let at = start === -1 ? header.length : start;
  for (;;) {
    PARAMETER.lastIndex = at;
    const [all, name = '', inQuotes, plain = ''] = PARAMETER.exec(header) ?? [];
    if (all === undefined) return /^\s*;?\s*$/.test(header.slice(at)) ? parameters : undefined;
    const key = name.toLowerCase();
    if (parameters.has(key)) return undefined;
    parameters.set(key, inQuotes?.replace(/\\(["\\])/g, '$1') ?? plain);
    at += all.length;
  }
}
