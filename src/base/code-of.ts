/** The code of an error of Node or of a driver (`ENOENT`, `CERT_HAS_EXPIRED`), or an empty text. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}
