import { isIPv4, isIPv6 } from 'node:net';

const IPV6_GROUPS = 8;

/**
 * Returns the 4 or 16 bytes of an address in text, or null. Decisions are made on bytes, never on text: `::ffff:7f00:1`,
 * `0:0:0:0:0:ffff:127.0.0.1` and `::FFFF:127.0.0.1` are one address. An address with a zone id is refused, as it names an
 * interface of this machine.
 */
export function addressBytes(text: string): Uint8Array | null {
  if (isIPv4(text)) return Uint8Array.from(text.split('.'), Number);
  if (!isIPv6(text) || text.includes('%')) return null;
  return ipv6Bytes(text);
}

/** `text` has passed `isIPv6`, so each group is one to four hex digits and at most one `::` is present. */
function ipv6Bytes(text: string): Uint8Array {
  const [head = '', tail] = withoutDottedQuad(text).split('::');
  const front = groupsOf(head);
  const back = tail === undefined ? [] : groupsOf(tail);
  const bytes = new Uint8Array(IPV6_GROUPS * 2);
  const view = new DataView(bytes.buffer);
  front.forEach((group, index) => view.setUint16(index * 2, group));
  back.forEach((group, index) => view.setUint16((IPV6_GROUPS - back.length + index) * 2, group));
  return bytes;
}

function withoutDottedQuad(text: string): string {
  const start = text.lastIndexOf(':') + 1;
  const quad = text.slice(start);
  if (!quad.includes('.')) return text;
  const [a = 0, b = 0, c = 0, d = 0] = quad.split('.').map(Number);
  return `${text.slice(0, start)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}
