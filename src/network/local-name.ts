/** `localhost` and everything below it: resolved here to the loopback addresses, never by DNS (RFC 6761). */
export function isLocalhostName(name: string): boolean {
  const bare = withoutRootDot(name).toLowerCase();
  return bare === 'localhost' || bare.endsWith('.localhost');
}

export function withoutRootDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
