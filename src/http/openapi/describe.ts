import { digest } from '../../secrets/digest.ts';

/** A document as it is sent. */
export interface Description {
  readonly json: string;
  readonly etag: string;
}

/** Adds a tag made from the content, so equal documents have equal tags for every caller. */
export function describe(json: string): Description {
  return { json, etag: `"${digest(json)}"` };
}
