/** True for `localhost` and every name below it, which resolve to the loopback addresses here and never by DNS (RFC 6761). */
export function isLocalhostName(name: string): boolean {
  const bare = withoutRootDot(name).toLowerCase();
  return bare === 'localhost' || bare.endsWith('.localhost');
}

export function withoutRootDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
