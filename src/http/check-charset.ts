import { AppError } from '../base/errors.ts';

/** Throws unsupported_media_type for a content type that names another charset than UTF-8. */
export function checkCharset(contentType: string): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1];
  if (charset === undefined || /^utf-?8$/i.test(charset)) return;
  throw new AppError('unsupported_media_type', 'Unsupported Content-Type. Bodies are sent as UTF-8.');
}
