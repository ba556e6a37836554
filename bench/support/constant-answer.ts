/** JSON of so many bytes, 8 at the least, for servers that answer the same to everybody. */
export function constantAnswer(bytes: number): string {
  return JSON.stringify({ x: 'x'.repeat(Math.max(0, bytes - 8)) });
}
